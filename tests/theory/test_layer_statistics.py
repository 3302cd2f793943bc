"""Statistics and spectra of layers, on networks whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from staf.nn import finer, siren, staf
from staf.theory.layer_statistics import bandwidth, layer_distribution_data, layer_statistics, mean_spectrum


def test_rows_are_the_layers_of_the_network() -> None:
    field = siren(2, 1, width=16, depth=3, dtype=torch.float64)
    x = torch.rand(40, 2, dtype=torch.float64)
    rows = layer_statistics(field, x)
    with torch.no_grad():
        a = field.layers[0](x)
        z = field.activation(0)(a)
        b = field.layers[1](z)
    assert len(rows) == 3
    assert np.abs(rows[0].pre - a.numpy()).max() < 1e-14
    assert np.abs(rows[0].post - z.numpy()).max() < 1e-14
    assert np.abs(rows[1].pre - b.numpy()).max() < 1e-14
    assert rows[0].variance == pytest.approx(float(z.var(correction=0)))


def test_other_activations_and_activated_outputs() -> None:
    rows = layer_statistics(finer(2, 1, width=8, depth=2), torch.rand(16, 2))
    assert [row.post.shape for row in rows] == [(16, 8), (16, 8)]
    sequential = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh())
    (row,) = layer_statistics(sequential, torch.rand(16, 2))
    assert np.abs(row.post - np.tanh(row.pre)).max() < 1e-6
    with pytest.raises(TypeError, match="CoordinateMLP or a Sequential, got Linear"):
        layer_statistics(torch.nn.Linear(2, 2), torch.rand(16, 2))


def test_skips_are_part_of_the_post_activation() -> None:
    field = staf(2, 1, width=16, depth=3, skip=True, dtype=torch.float64)
    x = torch.rand(40, 2, dtype=torch.float64)
    row = layer_statistics(field, x)[1]
    with torch.no_grad():
        expected = field.activation(1)(torch.from_numpy(row.pre)) + torch.from_numpy(row.pre)
    assert np.abs(row.post - expected.numpy()).max() < 1e-12


def test_deep_siren_layers_are_arcsine() -> None:
    field = siren(1, 1, width=256, depth=4, generator=torch.Generator().manual_seed(0))
    row = layer_statistics(field, torch.linspace(-1, 1, 512)[:, None])[2]
    assert row.variance == pytest.approx(0.5, abs=0.03)
    assert row.excess_kurtosis == pytest.approx(-1.5, abs=0.05)


def test_spectrum_of_a_sine_and_bandwidth() -> None:
    x = 2 * np.arange(1024) / 1024 - 1
    values = np.stack([np.sin(2 * np.pi * 33 * x), 0.5 * np.sin(2 * np.pi * 90 * x)], 1)
    frequency, magnitude = mean_spectrum(values)
    peaks = {float(frequency[i]): magnitude[i] for i in np.argsort(magnitude)[-2:]}
    assert peaks[33.0] == pytest.approx(0.5, rel=0.01)
    assert bandwidth(frequency, magnitude) >= 33
    assert bandwidth(frequency, magnitude, share=0.5) < 40


def test_figure_data_shows_what_the_paper_draws() -> None:
    data = layer_distribution_data(points=2048, bins=81)
    width = np.diff(data["edges"])
    assert ((data["post"] * width).sum(-1) <= 1 + 1e-9).all()
    assert data["variance"][0] == pytest.approx([0.5] * 4, abs=0.04)
    # Default weights make dot products of variance (power + 1)/3 at most, not 1: sum W z with Var W = 1/(3n).
    assert (data["pre_variance"][1:] < 0.75).all()
    # The highest frequency grows with depth, and faster for STAF than for SIREN.
    assert (np.diff(data["bandwidth"], axis=1) > -1).all()
    assert (data["bandwidth"][1:, 2] > 5 * data["bandwidth"][0, 2]).all()
    assert math.isclose(data["frequency"][1], 0.5)
