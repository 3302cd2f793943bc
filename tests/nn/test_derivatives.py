from __future__ import annotations

import math

import pytest
import torch

import staf
from staf.nn.derivatives import divergence, gradient, laplacian

UNITS = (2.0, 0.5)


def points(n: int = 6) -> torch.Tensor:
    return torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1


def wave(x: torch.Tensor) -> torch.Tensor:
    a, b = x[:, 0], x[:, 1]
    return torch.stack([torch.sin(3 * a) * torch.cos(2 * b), a**2 * b**3], dim=1)


def test_gradient_of_an_analytic_function():
    x = points()
    a, b = x.T
    expected = torch.stack(
        [
            torch.stack([3 * torch.cos(3 * a) * torch.cos(2 * b), -2 * torch.sin(3 * a) * torch.sin(2 * b)], 1),
            torch.stack([2 * a * b**3, 3 * a**2 * b**2], 1),
        ],
        dim=1,
    )
    torch.testing.assert_close(gradient(wave, x), expected)
    torch.testing.assert_close(gradient(wave, x, units=UNITS), expected / torch.tensor(UNITS))


def test_laplacian_of_an_analytic_function():
    x = points()
    a, b = x.T
    both = [-9 * torch.sin(3 * a) * torch.cos(2 * b), -4 * torch.sin(3 * a) * torch.cos(2 * b)]
    expected = torch.stack([sum(both), 2 * b**3 + 6 * a**2 * b], 1)
    torch.testing.assert_close(laplacian(wave, x), expected)
    scaled = torch.stack([both[0] / 4 + both[1] / 0.25, 2 * b**3 / 4 + 6 * a**2 * b / 0.25], 1)
    torch.testing.assert_close(laplacian(wave, x, units=UNITS), scaled)


def test_divergence_is_the_trace_of_the_gradient_and_of_a_gradient_the_laplacian():
    x = points()
    a, b = x.T
    expected = 3 * torch.cos(3 * a) * torch.cos(2 * b) + 3 * a**2 * b**2
    torch.testing.assert_close(divergence(wave, x), expected)
    flow = lambda at: gradient(lambda y: wave(y)[:, :1], at, differentiable=True)[:, 0]  # noqa: E731
    torch.testing.assert_close(divergence(flow, x), laplacian(wave, x)[:, 0])


@pytest.mark.parametrize("name", ["staf", "siren", "finer", "wire", "gauss", "ffn", "mfn"])
def test_networks_against_finite_differences(name):
    field = getattr(staf, name)(2, 2, width=8, depth=2, generator=torch.Generator().manual_seed(1)).double()
    x, h = points(4), 1e-4
    shifts = torch.eye(2, dtype=torch.float64) * h
    with torch.no_grad():
        ups, downs = ([field(x + sign * shift) for shift in shifts] for sign in (1, -1))
        middle = field(x)
    first = torch.stack([(up - down) / (2 * h) for up, down in zip(ups, downs, strict=True)], dim=2)
    second = sum((up - 2 * middle + down) / h**2 for up, down in zip(ups, downs, strict=True))
    size = first.abs().max().item()
    torch.testing.assert_close(gradient(field, x), first, rtol=1e-3, atol=1e-3 * size)
    torch.testing.assert_close(laplacian(field, x), second, rtol=1e-2, atol=1e-2 * second.abs().max().item())


def test_functions_without_curvature_have_none():
    x = points()
    assert torch.equal(laplacian(lambda x: 3 * x, x), torch.zeros(6, 2, dtype=torch.float64))
    assert torch.equal(gradient(lambda x: torch.ones(len(x), 1), x), torch.zeros(6, 1, 2, dtype=torch.float64))


def test_a_loss_on_derivatives_reaches_the_weights():
    field = staf.staf(2, 1, width=8, depth=2, generator=torch.Generator().manual_seed(0))
    laplacian(field, points().float(), differentiable=True).square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in field.parameters() if p is not list(
        field.parameters())[-1])  # fmt: skip
    assert not gradient(field, points().float()).requires_grad


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="as many values as coordinates"):
        divergence(lambda x: x[:, :1], points())
    with pytest.raises(ValueError, match="units must be 2 positive numbers"):
        gradient(wave, points(), units=(1.0, 0.0))
    with pytest.raises(ValueError, match=r"field must map \(n, d\) to \(n, c\)"):
        gradient(lambda x: x[:, 0], points())


def test_fitted_fields_differentiate_in_the_signals_own_units():
    """A picture that brightens by a fixed step a pixel has that step as its gradient."""
    import numpy as np

    from staf.api import FittedField
    from staf.kinds import Audio, Image

    class Ramp(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.one * ((x + 1) / 2).square().sum(-1, keepdim=True)

    image = Image(np.array([[0.0, 3.0]] * 4, np.float32))
    for convention, (rows, columns) in {"centres": (4, 2), "ends": (3, 1)}.items():
        field = FittedField(Ramp(), {"signal": image.metadata(), "convention": convention})
        at = torch.tensor([[0.0, 0.5]])
        # In pixels r and c the value is 3 ((r / rows)^2 + (c / columns)^2).
        expected = torch.tensor([[[3 * 2 * 0.5 / rows, 3 * 2 * 0.75 / columns]]])
        torch.testing.assert_close(field.gradient(at), expected)
        torch.testing.assert_close(field.laplacian(at), torch.tensor([[6 / rows**2 + 6 / columns**2]]))
    seconds = 0.25
    audio = Audio(np.array([0.5] * 100, np.float32), rate=400)
    wave_field = FittedField(Ramp(), {"signal": audio.metadata(), "convention": "centres"})
    t = 0.1
    slope = wave_field.divergence(torch.tensor([[2 * t / seconds - 1]]))
    assert math.isclose(slope.item(), 0.5 * 2 * t / seconds**2, rel_tol=1e-5)
