"""Gradient gains of real networks against the prediction, and the weight law that makes them one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from staf.nn import SineSeries, siren, staf
from staf.nn.init import WEIGHT_LAWS
from staf.theory.gradient_gain import default_gain, gradient_gains, predicted_gain, unit_gain_variance
from staf.theory.layers import Layer, read_network


def points(n: int = 256) -> torch.Tensor:
    return 2 * torch.rand(n, 2, generator=torch.Generator().manual_seed(0)) - 1


def paper_network(seed: int, weights: str = "torch", skip: bool = False, width: int = 128) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    return staf(2, 3, width=width, depth=3, omega0=30, law="theorem", weights=weights, skip=skip, generator=generator)


def many_neurons(weights: str) -> Layer:
    """A layer of 20,000 neurons with sinusoids of their own: an average over as many draws of the theorem's law."""
    generator = torch.Generator().manual_seed(0)
    series = SineSeries(5, 30.0, width=20_000, law="theorem", generator=generator)
    linear = nn.Linear(16, 20_000)
    WEIGHT_LAWS[weights]()(linear, "hidden", series, generator)
    return read_network(nn.Sequential(linear, series)).layers[0]


def test_siren_has_unit_gain() -> None:
    field = siren(2, 3, width=256, depth=4, generator=torch.Generator().manual_seed(0))
    for gain in gradient_gains(field, points(), torch.Generator().manual_seed(1)):
        assert gain.predicted == pytest.approx(1.0, abs=0.03)
        assert gain.measured == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("skip", [False, True])
def test_prediction_for_each_draw(skip: bool) -> None:
    ratios = []
    for seed in range(6):
        field = paper_network(seed, skip=skip)
        ratios += [g.measured / g.predicted for g in gradient_gains(field, points(), torch.Generator().manual_seed(1))]
    assert np.exp(np.log(ratios).mean()) == pytest.approx(1.0, abs=0.2)
    assert max(ratios) < 2.5
    assert min(ratios) > 0.4


def test_a_skip_adds_one_to_the_squared_slope() -> None:
    field = paper_network(0, skip=True)
    with torch.no_grad():
        for layer in (1, 2):
            field.activation(layer).amplitude.zero_()
    # Without sinusoids a skip layer is linear, and its gain is that of its weights alone: 1/sqrt(3) by default.
    for gain in gradient_gains(field, points(), torch.Generator().manual_seed(1)):
        assert gain.predicted == pytest.approx(1 / math.sqrt(3), rel=0.02)
        assert gain.measured == pytest.approx(gain.predicted, rel=0.25)


def test_gains_over_draws_with_default_and_with_unit_gain_weights() -> None:
    # Var W is set for a square layer; this one has 20,000 outputs and 16 inputs, hence the ratio.
    ratio = math.sqrt(16 / 20_000)
    assert predicted_gain(many_neurons("torch")) * ratio == pytest.approx(default_gain(30.0), rel=0.02)
    assert predicted_gain(many_neurons("unit_gain")) * ratio == pytest.approx(1.0, rel=0.02)


def test_unit_gain_variance_is_that_of_the_weight_law() -> None:
    field = paper_network(0, weights="unit_gain")
    variance = unit_gain_variance(field.activation(1).frequency, 128)
    assert float(variance) == pytest.approx(float(field.layers[1].weight.detach().square().mean()), rel=0.05)


def test_sequential_networks_and_refusals() -> None:
    torch.manual_seed(0)
    layers = [nn.Linear(2, 64), SineSeries(5, 30.0), nn.Linear(64, 64), SineSeries(5, 30.0), nn.Linear(64, 1)]
    (gain,) = gradient_gains(nn.Sequential(*layers), points(), torch.Generator().manual_seed(0))
    assert gain.layer == 1
    assert 0.3 < gain.measured / gain.predicted < 3
    with pytest.raises(ValueError, match="must end with a linear output"):
        gradient_gains(nn.Sequential(*layers[:4]), points())
    with pytest.raises(ValueError, match="fan_in must be at least 1, got 0"):
        unit_gain_variance(torch.ones(3), 0)


def test_one_layer_has_no_gain_to_measure() -> None:
    with pytest.raises(ValueError, match="at least two activated layers"):
        gradient_gains(siren(2, 1, width=8, depth=1), points(8))
