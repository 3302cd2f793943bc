"""Kernels of infinitely wide networks against the gradients of finite ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from staf.theory.dual import Dual, GaussianDual, ReLUDual, SineDual, SineSeriesDual
from staf.theory.kernels import (
    kernel_comparison_data,
    nngp_ntk,
    shared_sinusoid_gram,
    shared_sinusoid_kernel,
    shared_sinusoid_spread,
)

SERIES = SineSeriesDual(torch.tensor([0.9, -0.7, 1.1]), torch.tensor([0.6, 1.7, 1.1]), torch.tensor([0.4, -1.2, 2.2]))


def circle(n: int, radius: float = 1.0) -> torch.Tensor:
    angle = torch.linspace(0, math.pi, n, dtype=torch.float64)
    return radius * torch.stack([angle.cos(), angle.sin()], 1)


def finite_ntk(
    x: torch.Tensor, act: Dual, hidden: int, width: int, seed: int, *, sinusoids: bool = False
) -> torch.Tensor:
    """The empirical NTK of a network in the NTK parametrisation, by autograd."""
    generator = torch.Generator().manual_seed(seed)
    sizes = [x.shape[1]] + [width] * hidden + [1]
    weights = [torch.randn(b, a, generator=generator, dtype=torch.float64) for a, b in itertools.pairwise(sizes)]
    shared = []
    for w in weights:
        w.requires_grad_(not sinusoids)
    layers = []
    for _ in range(hidden):
        if sinusoids:
            assert isinstance(act, SineSeriesDual)
            parts = [t.clone().requires_grad_(True) for t in (act.amplitude, act.frequency, act.phase)]
            shared += parts
            layers.append(lambda z, parts=parts: (parts[0] * torch.sin(parts[1] * z[..., None] + parts[2])).sum(-1))
        else:
            layers.append(act.activation)
    z = x
    for w, phi in zip(weights, layers, strict=False):
        z = phi(z @ w.T) / math.sqrt(width)
    out = (z @ weights[-1].T)[:, 0]
    parameters = shared if sinusoids else weights
    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(o, parameters, retain_graph=True)]) for o in out]
    jacobian = torch.stack(rows)
    return jacobian @ jacobian.T


@pytest.mark.parametrize(("hidden", "width", "tolerance"), [(1, 2048, 0.028), (2, 512, 0.087), (3, 512, 0.134)])
def test_ntk_equals_a_wide_network(hidden: int, width: int, tolerance: float) -> None:
    x = circle(6)
    act = SERIES.normalised()
    predicted = nngp_ntk(x, [act] * hidden).ntk
    measured = torch.stack([finite_ntk(x, act, hidden, width, seed) for seed in range(4)]).mean(0)
    # Three times the rms error of one draw; a mean of four draws is twice as accurate.
    assert float((measured - predicted).norm() / predicted.norm()) < 1.5 * tolerance


def test_unnormalised_inputs_and_activations_use_the_general_covariance() -> None:
    x = circle(5, radius=1.7)
    predicted = nngp_ntk(x, [SERIES, SERIES]).ntk
    measured = torch.stack([finite_ntk(x, SERIES, 2, 512, seed) for seed in range(4)]).mean(0)
    assert float((measured - predicted).norm() / predicted.norm()) < 0.13


@pytest.mark.parametrize("act", [ReLUDual(), GaussianDual(0.7), SineDual(1.2)])
def test_other_activations_equal_wide_networks(act: Dual) -> None:
    x = circle(5)
    predicted = nngp_ntk(x, [act]).ntk
    measured = torch.stack([finite_ntk(x, act, 1, 2048, seed) for seed in range(4)]).mean(0)
    assert float((measured - predicted).norm() / predicted.norm()) < 0.06


def test_one_hidden_layer_is_one_step() -> None:
    x = circle(3)
    act = SERIES.normalised()
    one, two = nngp_ntk(x, [act]).ntk, nngp_ntk(x, [act, act]).ntk
    measured = torch.stack([finite_ntk(x, act, 1, 2048, seed) for seed in range(4)]).mean(0)
    assert float((measured - one).norm() / one.norm()) < 0.06
    assert float((measured - two).norm() / one.norm()) > 0.3


def test_cross_kernel_is_the_block_of_the_whole_and_is_positive() -> None:
    x = circle(7, radius=1.3)
    whole = nngp_ntk(x, [SERIES, SERIES])
    block = nngp_ntk(x[:3], [SERIES, SERIES], x[3:])
    assert torch.allclose(whole.ntk[:3, 3:], block.ntk, atol=1e-12)
    assert torch.allclose(whole.nngp[:3, 3:], block.nngp, atol=1e-12)
    assert float(torch.linalg.eigvalsh(whole.ntk).min()) > -1e-10
    assert torch.allclose(whole.ntk, whole.ntk.T, atol=1e-13)


def quadrature_gram(variance: float) -> torch.Tensor:
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    u = torch.tensor(math.sqrt(variance) * nodes)[:, None]
    angle = SERIES.frequency * u + SERIES.phase
    gradient = torch.cat([angle.sin(), SERIES.amplitude * u * angle.cos(), SERIES.amplitude * angle.cos()], 1)
    return gradient.T @ (torch.tensor(weights / weights.sum())[:, None] * gradient)


@pytest.mark.parametrize("variance", [1.0, 0.4, 2.3])
def test_gram_of_the_shared_sinusoids_equals_quadrature(variance: float) -> None:
    assert torch.allclose(shared_sinusoid_gram(variance, SERIES), quadrature_gram(variance), atol=1e-12)


def test_shared_sinusoid_kernel_equals_quadrature_off_the_diagonal() -> None:
    p, c, q = 1.3, -0.4, 0.8
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = torch.tensor(weights / weights.sum())
    u = torch.tensor(math.sqrt(p) * nodes)[:, None].expand(-1, 120)
    v = torch.tensor(c / math.sqrt(p) * nodes[:, None] + math.sqrt(q - c * c / p) * nodes[None, :])
    expected = 0.0
    for C, w, f in zip(SERIES.amplitude, SERIES.frequency, SERIES.phase, strict=True):
        a, b = w * u + f, w * v + f
        product = a.sin() * b.sin() + C**2 * (1 + u * v) * a.cos() * b.cos()
        expected += float((weights[:, None] * weights * product).sum())
    tensors = [torch.tensor(t, dtype=torch.float64) for t in (p, c, q)]
    assert float(shared_sinusoid_kernel(*tensors, SERIES)) == pytest.approx(expected, abs=1e-12)


def test_trained_sinusoids_add_a_term_that_stays_random_at_any_width() -> None:
    x = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    mean, spread = shared_sinusoid_spread(1.0, SERIES)
    for width in (64, 1024):
        drawn = torch.stack([finite_ntk(x, SERIES, 1, width, seed, sinusoids=True)[0, 0] for seed in range(600)])
        assert float(drawn.mean()) == pytest.approx(mean, abs=4 * spread / math.sqrt(600))
        assert float(drawn.std()) == pytest.approx(spread, rel=0.2)


def test_recursion_with_trained_sinusoids_is_the_mean_over_networks() -> None:
    x = circle(3, radius=1.2)
    extra = nngp_ntk(x, [SERIES, SERIES], shared_sinusoids=True).ntk - nngp_ntk(x, [SERIES, SERIES]).ntk
    drawn = torch.stack([finite_ntk(x, SERIES, 2, 192, seed, sinusoids=True) for seed in range(400)])
    error = drawn.std(0) / math.sqrt(len(drawn))
    # Four standard errors and the 1/width bias of a finite network.
    assert ((drawn.mean(0) - extra).abs() < 4 * error + 0.02 * extra.abs().max()).all()
    with pytest.raises(ValueError, match="shared_sinusoids needs sine-series activations"):
        nngp_ntk(x, [ReLUDual()], shared_sinusoids=True)


def test_figure_data_is_normalised_and_says_relu_is_smoothest() -> None:
    data = kernel_comparison_data([SERIES], depth=2, points=41)
    assert data["dual"][:, -1] == pytest.approx(1.0)
    assert data["ntk"][:, -1] == pytest.approx(1.0)
    assert data["names"][0] == "STAF, τ = 3"
    assert len(data["names"]) == len(data["dual"]) == 4


def test_no_activation_is_refused() -> None:
    with pytest.raises(ValueError, match="activations must hold one entry per hidden layer"):
        nngp_ntk(circle(2), [])
