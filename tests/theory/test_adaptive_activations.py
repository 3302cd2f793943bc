"""Adaptive activations and Fourier series as plain networks."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from staf.nn import staf
from staf.theory.adaptive_activations import AdaptiveLayer, BlockNetwork, adaptive_network
from staf.theory.fourier_series import SeparableSeries
from staf.theory.kronecker import equivalent_matrices
from staf.theory.layers import read_network


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_blocks_compute_the_adaptive_network(depth: int) -> None:
    sizes = [2, 5, 4, 6, 3][: depth + 1]
    rhos = [torch.tanh, torch.sin, torch.relu]
    layers = [AdaptiveLayer(draw(b, a), draw(b), draw(3), draw(3)) for a, b in pairwise(sizes)]
    output = (draw(2, sizes[depth]), draw(2))
    x = draw(50, 2)
    plain = BlockNetwork(layers, output, rhos)
    assert torch.allclose(plain(x), adaptive_network(x, layers, output, rhos), rtol=0, atol=1e-11)
    assert plain.linears[0].out_features == 3 * sizes[1]


def test_phases_as_activations_are_the_kronecker_equivalent() -> None:
    field = staf(2, 1, width=4, depth=2, terms=2, omega0=3, hidden_omega0=2, dtype=torch.float64)
    read = read_network(field)
    layers = [AdaptiveLayer(r.weight, r.bias, r.amplitude[0], r.frequency[0]) for r in read.layers]
    output = (field.output.weight.detach(), field.output.bias.detach())
    plain = BlockNetwork(layers, output, [torch.sin, torch.sin])
    for ours, (weight, _) in zip(plain.linears, equivalent_matrices(read), strict=False):
        assert torch.allclose(ours.weight, weight, rtol=0, atol=1e-12)


def test_mistakes_of_layers_are_named() -> None:
    layer = AdaptiveLayer(draw(3, 2), draw(3), draw(2), draw(2))
    with pytest.raises(ValueError, match="activations must have one entry for each of the 2 amplitudes"):
        BlockNetwork([layer], (draw(1, 3), draw(1)), [torch.sin])
    with pytest.raises(ValueError, match="at least one adaptive layer"):
        BlockNetwork([], (draw(1, 3), draw(1)), [torch.sin])


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_a_fourier_series_is_one_layer_of_sines(inputs: int) -> None:
    series = SeparableSeries(draw(4, 2), 3 * draw(4, inputs), draw(4, inputs))
    x = draw(30, inputs)
    field = series.to_network()
    assert field.architecture["name"] == "siren"
    assert field.layers[0].out_features == 4 * 2 ** (inputs - 1)
    assert torch.allclose(field(x), series(x), rtol=0, atol=1e-10)


def test_mistakes_of_series_are_named() -> None:
    with pytest.raises(ValueError, match="frequency and phase must have the same shape"):
        SeparableSeries(draw(4, 2), draw(4, 2), draw(4, 3))
