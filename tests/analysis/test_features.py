"""Feature maps of layers over a grid."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.analysis import activation_maps
from staf.analysis.features import layer_features, radial_spectrum
from staf.signals.grid import coordinates


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("skip", [False, True])
def test_maps_are_what_the_next_layer_reads(skip: bool) -> None:
    field = staf.staf(2, 3, width=10, depth=2, skip=skip, generator=generator())
    shape = (6, 5)
    layers = activation_maps(field, shape, neurons=4, chunk=7)
    assert [layer.read_by for layer in layers] == ["layers.1", "output"]
    with torch.no_grad():
        first = field.activation(0)(field.layers[0](coordinates(shape)))
        hidden = field.layers[1](first)
        second = field.activation(1)(hidden) + (hidden if skip else 0)
    for layer, expected in zip(layers, (first, second), strict=True):
        assert layer.maps.shape == (4, 6, 5)
        assert np.allclose(layer.maps, expected.T[:4].reshape(4, 6, 5).numpy(), atol=1e-6)
        assert layer.variance == pytest.approx(float(expected.var(correction=0)), rel=1e-5)
        assert (layer.density * np.diff(layer.edges)).sum() == pytest.approx(1)


def test_encodings_filters_and_complex_layers() -> None:
    x = coordinates((4, 4))
    assert list(layer_features(staf.ffn(2, 1, width=8, depth=2), x)) == ["layers.0", "layers.1", "output"]
    assert list(layer_features(staf.mfn(2, 1, width=8, depth=3), x)) == ["layers.0", "layers.1", "output"]
    planar = layer_features(staf.wire(2, 1, width=8, depth=2, planar=True), x)
    assert len(planar) == 2
    assert all(features.is_complex() for features in planar.values())
    maps = activation_maps(staf.wire(2, 1, width=8, depth=2), (4, 4))
    assert all((layer.maps >= 0).all() for layer in maps)


def test_a_layer_used_twice_is_numbered() -> None:
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.again = torch.nn.Linear(1, 3), torch.nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.again(self.again(self.first(x)))

    assert list(layer_features(Twice(), torch.zeros(2, 1))) == ["again", "again #2"]


def test_radial_spectrum_finds_a_plane_wave() -> None:
    i, j = np.meshgrid(np.arange(48), np.arange(48), indexing="ij")
    wave = np.sin(2 * np.pi * (0.15 * i + 0.2 * j)).reshape(-1, 1)
    frequency, power = radial_spectrum(wave, (48, 48))
    assert frequency[power.argmax()] == pytest.approx(0.25, abs=0.5 / 24)
    assert power.sum() == pytest.approx(1)
    assert not radial_spectrum(np.full((48 * 48, 2), 3.0), (48, 48))[1].any()


def test_later_layers_have_higher_frequencies() -> None:
    layers = activation_maps(staf.siren(1, 1, width=64, depth=3, omega0=20, generator=generator()), (256,))
    means = [layer.mean_frequency for layer in layers]
    assert means == sorted(means)
    assert means[-1] > 1.2 * means[0]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="neurons must be at least 1"):
        activation_maps(staf.siren(2, 1, width=8), (4, 4), neurons=0)
    with pytest.raises(ValueError, match="no linear layer that reads features"):
        activation_maps(torch.nn.Linear(2, 1), (4, 4))
