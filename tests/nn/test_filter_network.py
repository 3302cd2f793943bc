"""Multiplicative filter networks against their formulas."""

from __future__ import annotations

import math

import pytest
import torch

from staf.nn import MultiplicativeFilterNetwork
from staf.nn.filter_network import FourierFilter, GaborFilter


def test_gabor_filter_is_the_formula(generator: torch.Generator) -> None:
    one = GaborFilter(2, 6, scale=8.0, alpha=1.5, beta=1.0, generator=generator, dtype=torch.float64)
    x = torch.rand(4, 2, generator=generator, dtype=torch.float64)
    distance = (x[:, None] - one.centre).square().sum(-1)
    expected = torch.sin(x @ one.linear.weight.T + one.linear.bias) * torch.exp(-0.5 * one.sharpness * distance)
    assert torch.allclose(one(x), expected, atol=1e-12)


def test_gabor_start(generator: torch.Generator) -> None:
    """Weights are torch's default x scale sqrt(gamma), phases U(-pi, pi), centres U(-1, 1)."""
    one = GaborFilter(2, 20_000, scale=128.0, alpha=1.5, beta=1.0, generator=generator)
    unit = one.linear.weight / (128 * one.sharpness[:, None].sqrt())
    assert unit.abs().max().item() == pytest.approx(1 / math.sqrt(2), rel=1e-3)
    assert one.linear.bias.abs().max().item() == pytest.approx(math.pi, rel=1e-3)
    assert one.centre.abs().max().item() == pytest.approx(1, rel=1e-3)
    assert one.sharpness.mean().item() == pytest.approx(1.5, rel=0.05)


def test_fourier_filter_is_the_formula(generator: torch.Generator) -> None:
    one = FourierFilter(2, 6, scale=8.0, generator=generator, dtype=torch.float64)
    x = torch.rand(4, 2, generator=generator, dtype=torch.float64)
    assert torch.allclose(one(x), torch.sin(x @ one.linear.weight.T + one.linear.bias), atol=1e-12)


def test_products_of_filters(generator: torch.Generator) -> None:
    field = MultiplicativeFilterNetwork(2, 1, width=5, depth=3, generator=generator)
    x = torch.rand(4, 2, generator=generator)
    z = field.filters[0](x)
    for k in (1, 2):
        z = field.filters[k](x) * field.layers[k - 1](z)
    assert torch.allclose(field(x), field.output(z))


def test_default_constants(generator: torch.Generator) -> None:
    field = MultiplicativeFilterNetwork(2, 1, generator=generator)
    assert len(field.filters) == 4
    unit = field.filters[0].linear.weight / field.filters[0].sharpness[:, None].sqrt()
    assert unit.abs().max().item() == pytest.approx(128 / math.sqrt(2), rel=0.02)
    assert field.layers[0].weight.abs().max().item() == pytest.approx(1 / 16, rel=1e-2)
    with pytest.raises(ValueError, match="did you mean 'gabor'"):
        MultiplicativeFilterNetwork(2, 1, filters="gabo")
