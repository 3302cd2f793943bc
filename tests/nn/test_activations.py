"""The baselines' activations against their formulas."""

from __future__ import annotations

import pytest
import torch

from staf.nn import Finer, Gauss, Sine

X = torch.linspace(-1, 1, 21, dtype=torch.float64)[:, None]


def test_sine() -> None:
    assert torch.allclose(Sine(12)(X), torch.sin(12 * X), atol=1e-12)


def test_gauss() -> None:
    assert torch.allclose(Gauss(3)(X), torch.exp(-((3 * X) ** 2)), atol=1e-12)


def test_finer_and_its_scale_without_gradient() -> None:
    x = X.clone().requires_grad_()
    value = Finer(4)(x)
    assert torch.allclose(value, torch.sin(4 * (X.abs() + 1) * X), atol=1e-12)
    (slope,) = torch.autograd.grad(value.sum(), x)
    scale = 4 * (X.abs() + 1)
    assert torch.allclose(slope, scale * torch.cos(scale * X), atol=1e-12)


@pytest.mark.parametrize("make", [Sine, Finer, Gauss])
def test_constants_are_checked_and_shown(make: type) -> None:
    with pytest.raises(ValueError, match="got 0"):
        make(0)
    assert "=7" in repr(make(7))
