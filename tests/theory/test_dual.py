"""Closed forms of dual activations against two-dimensional Gauss-Hermite quadrature and Monte Carlo."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from staf.theory.dual import (
    Dual,
    GaussianDual,
    ReLUDual,
    SineDual,
    SineSeriesDual,
    dual_activation,
    dual_activation_derivative,
    dual_covariance,
    unit,
)

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(200)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def series(seed: int, terms: int = 4, omega: float = 3.0) -> SineSeriesDual:
    generator = torch.Generator().manual_seed(seed)

    def draw(scale: float) -> torch.Tensor:
        return scale * (2 * torch.rand(terms, generator=generator, dtype=torch.float64) - 1)

    return SineSeriesDual(draw(1.5), draw(omega), draw(math.pi))


def quadrature(phi, p: float, c: float, q: float) -> float:
    """E[phi(u) phi(v)], u = sqrt(p) s, v = c/sqrt(p) s + sqrt(q - c^2/p) t on a 200 x 200 Gauss-Hermite grid."""
    u = torch.tensor(math.sqrt(p) * NODES)
    v = torch.tensor(c / math.sqrt(p) * NODES[:, None] + math.sqrt(max(q - c * c / p, 0.0)) * NODES[None, :])
    inner = (phi(v) * torch.tensor(WEIGHTS)).sum(1)
    return float((torch.tensor(WEIGHTS) * phi(u) * inner).sum())


def slope(act: Dual):
    def derivative(x: torch.Tensor) -> torch.Tensor:
        point = x.clone().requires_grad_(True)
        (grad,) = torch.autograd.grad(act.activation(point).sum(), point)
        return grad

    return derivative


@pytest.mark.parametrize(
    "covariance", [(1.0, 0.6, 1.0), (1.0, -1.0, 1.0), (0.7, 0.3, 1.9), (2.0, -1.1, 0.9), (1.0, 1.0, 1.0)]
)
@pytest.mark.parametrize("act", [series(0), series(1, omega=2.0), SineDual(1.7), GaussianDual(0.6)])
def test_value_and_derivative_equal_quadrature(act: Dual, covariance: tuple[float, float, float]) -> None:
    p, c, q = (torch.tensor(v, dtype=torch.float64) for v in covariance)
    assert float(act.value(p, c, q)) == pytest.approx(quadrature(act.activation, *covariance), abs=1e-12)
    assert float(act.derivative(p, c, q)) == pytest.approx(quadrature(slope(act), *covariance), abs=1e-11)


@pytest.mark.parametrize("covariance", [(1.0, 0.6, 1.0), (0.7, -0.3, 1.9)])
def test_relu_equals_monte_carlo(covariance: tuple[float, float, float]) -> None:
    p, c, q = covariance
    generator = torch.Generator().manual_seed(0)
    s, t = torch.randn(2, 1_000_000, generator=generator, dtype=torch.float64)
    u, v = math.sqrt(p) * s, c / math.sqrt(p) * s + math.sqrt(q - c * c / p) * t
    tensors = [torch.tensor(x, dtype=torch.float64) for x in covariance]
    # Standard errors are below 0.0013 (value) and 0.0005 (derivative); four of them.
    assert float(ReLUDual().value(*tensors)) == pytest.approx(
        float((u.clamp(min=0) * v.clamp(min=0)).mean()), abs=0.005
    )
    assert float(ReLUDual().derivative(*tensors)) == pytest.approx(
        float(((u > 0) & (v > 0)).double().mean()), abs=0.002
    )


@pytest.mark.parametrize("act", [series(2), SineDual(1.3), GaussianDual(2.0), ReLUDual()])
def test_derivative_is_the_derivative_in_the_covariance(act: Dual) -> None:
    p, q = torch.tensor(1.3, dtype=torch.float64), torch.tensor(0.8, dtype=torch.float64)
    c = torch.linspace(-0.9, 0.9, 7, dtype=torch.float64).requires_grad_(True)
    (slope_in_c,) = torch.autograd.grad(act.value(p, c, q).sum(), c)
    assert torch.allclose(slope_in_c, act.derivative(p, c.detach(), q), atol=1e-12)


def test_the_sign_that_the_paper_prints_is_the_dual_of_shifted_phases() -> None:
    one, zero = torch.ones(1), torch.zeros(1)
    xi = torch.tensor([-0.5, 0.5])
    value = dual_activation(xi, one, one, zero)
    assert value.tolist() == pytest.approx([-math.exp(-1) * math.sinh(0.5), math.exp(-1) * math.sinh(0.5)], abs=1e-15)
    printed = dual_activation(xi, one, one, zero + math.pi / 2)
    assert printed.tolist() == pytest.approx([math.exp(-1) * math.cosh(0.5)] * 2, abs=1e-7)
    assert float(dual_activation_derivative(0.5, one, one, zero)) == pytest.approx(
        math.exp(-1) * math.cosh(0.5), abs=1e-15
    )


def test_monte_carlo_tells_the_two_signs_apart() -> None:
    act = series(3, terms=3, omega=1.5)
    generator = torch.Generator().manual_seed(1)
    s, t = torch.randn(2, 400_000, generator=generator, dtype=torch.float64)
    product = act.activation(s) * act.activation(0.5 * s + math.sqrt(0.75) * t)
    error = float(product.std() / math.sqrt(len(product)))
    printed = SineSeriesDual(act.amplitude, act.frequency, act.phase + math.pi / 2)
    assert abs(float(act.value(*unit(0.5))) - float(product.mean())) < 4 * error
    assert abs(float(printed.value(*unit(0.5))) - float(product.mean())) > 20 * error


def test_large_frequencies_are_finite_and_exact_at_the_ends() -> None:
    act = series(4, terms=5, omega=3000.0)
    xi = torch.tensor([-1.0, -0.999999, 0.0, 0.999999, 1.0])
    assert torch.isfinite(act.value(*unit(xi))).all()
    assert torch.isfinite(act.derivative(*unit(xi))).all()
    # At xi = 1 only the diagonal survives large, distinct frequencies: sum C^2 / 2.
    assert float(act.value(*unit(1.0))) == pytest.approx(float((act.amplitude**2).sum() / 2), rel=1e-12)
    near = 1 - 1e-9
    expected = 0.5 * sum(
        float(c) ** 2 * math.exp(-(float(w) ** 2) * 1e-9) for c, w in zip(act.amplitude, act.frequency, strict=True)
    )
    assert float(act.value(*unit(near))) == pytest.approx(expected, rel=1e-8)


def test_general_form_agrees_with_the_unit_form_and_normalisation() -> None:
    act = series(5)
    xi = torch.linspace(-1, 1, 9, dtype=torch.float64)
    value, derivative = dual_covariance(torch.ones(9), xi, torch.ones(9), act.amplitude, act.frequency, act.phase)
    assert torch.allclose(value, dual_activation(xi, act.amplitude, act.frequency, act.phase), atol=0)
    assert torch.allclose(derivative, dual_activation_derivative(xi, act.amplitude, act.frequency, act.phase), atol=0)
    for each in (act, ReLUDual(), GaussianDual(3.0)):
        assert float(each.normalised().value(*unit(1.0))) == pytest.approx(1.0, abs=1e-14)


def test_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match="xi must lie in"):
        dual_activation(1.5, torch.ones(1), torch.ones(1), torch.ones(1))
    with pytest.raises(ValueError, match="phase must have shape"):
        dual_activation(0.5, torch.ones(2), torch.ones(2), torch.ones(3))
    with pytest.raises(ValueError, match="p and q must be variances"):
        dual_covariance(torch.tensor(-1.0), torch.tensor(0.0), torch.tensor(1.0), *torch.ones(3, 1))


def test_what_is_no_covariance_or_cannot_be_normalised_is_refused() -> None:
    one = torch.ones(1, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"c\^2 <= p q"):
        dual_covariance(one, 2 * one, one, one, one, one)
    with pytest.raises(ValueError, match="got nan"):
        unit(float("nan"))
    with pytest.raises(ValueError, match="cannot be normalised"):
        SineDual(0.0).normalised()
