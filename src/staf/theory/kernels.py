"""NNGP and NTK of infinitely wide networks, and what training the shared sinusoids adds to the NTK.

The network is f(x) = W_{h+1} phi_h(... phi_1(W_1 x)) with standard normal weights and a factor 1/sqrt(width) after each
activation (the NTK parametrisation; a torch-parametrised network has another kernel). One recursion step per hidden
layer:

    Sigma_0 = K_0 = x.x',   Sigma_h = E[phi phi],   K_h = Sigma_h + K_{h-1} E[phi' phi'],

expectations under the 2x2 covariance made of Sigma_{h-1} and its diagonals.

>>> from staf.theory.dual import SineDual
>>> x = torch.eye(2, dtype=torch.float64)
>>> nngp_ntk(x, [SineDual(1.0)]).ntk.round(decimals=4).tolist()
[[1.0, 0.0], [0.0, 1.0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from staf._documents import Document
from staf._typing import Float
from staf.theory.checks import LARGEST, finite, finite_tensor
from staf.theory.dual import Dual, GaussianDual, ReLUDual, Scaled, SineDual, SineSeriesDual, unit


class Kernels(NamedTuple):
    """Both kernels of the infinitely wide network, of shape (n, m)."""

    nngp: Tensor
    ntk: Tensor


def nngp_ntk(
    x: Float[Tensor, "n d"],
    activations: Sequence[Dual],
    y: Float[Tensor, "m d"] | None = None,
    *,
    shared_sinusoids: bool = False,
) -> Kernels:
    """NNGP and NTK between rows of `x` and of `y` (`x` itself by default), one activation per hidden layer.

    Inputs need not be normalised, nor the activations: the general covariance form is used throughout. With
    `shared_sinusoids` the NTK is that of a network whose layer-shared (C, Omega, Phi) are trained as well, **in
    expectation**: K_h gains E_h, `shared_sinusoid_kernel` of layer h. That part does not concentrate as the width
    grows; `shared_sinusoid_spread` gives its standard deviation.

    >>> from staf.theory.dual import ReLUDual
    >>> x = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    >>> kernels = nngp_ntk(x, [ReLUDual(), ReLUDual()])
    >>> kernels.nngp.diagonal().tolist()             # each ReLU halves the variance
    [0.25, 0.25]
    """
    if not activations:
        raise ValueError("activations must hold one entry per hidden layer, got none")
    for act in activations:
        if not isinstance(act, Dual):
            raise TypeError(f"activations must be duals such as SineDual(30.0), got {act!r}")
    first = finite_tensor("x", x)
    second = first if y is None else finite_tensor("y", y)
    for name, rows in (("x", first), ("y", second)):
        if rows.ndim != 2 or rows.shape[1] != first.shape[-1]:
            raise ValueError(
                f"{name} must be rows of {first.shape[-1] if first.ndim else 0} coordinates, got shape "
                f"{tuple(rows.shape)}"
            )
    p, q = (first**2).sum(1)[:, None], (second**2).sum(1)[None, :]
    sigma = first @ second.T
    ntk = sigma.clone()
    for layer, act in enumerate(activations):
        gain = act.derivative(p, sigma, q)
        extra: Tensor | float = 0.0
        if shared_sinusoids:
            extra = shared_sinusoid_kernel(p, sigma, q, _series(act, layer))
        sigma, p, q = act.value(p, sigma, q), act.value(p, p, p), act.value(q, q, q)
        ntk = sigma + extra + ntk * gain
    if not bool(torch.isfinite(ntk).all()):
        raise ValueError("x and activations must give kernels that are floats: these overflow")
    return Kernels(sigma, ntk)


def shared_sinusoid_kernel(p: Tensor, c: Tensor, q: Tensor, series: SineSeriesDual) -> Tensor:
    """E[grad rho(u) . grad rho(v)] over (C, Omega, Phi): what training a layer's shared sinusoids adds on average.

    With e-/+ = exp(-Omega^2 (p + q -/+ 2c) / 2), summed over the terms:

        C:      1/2 (e- - e+ cos 2 Phi)
        Phi:    C^2/2 (e- + e+ cos 2 Phi)
        Omega:  C^2/2 ((c + Omega^2 (p - c)(q - c)) e- + (c - Omega^2 (p + c)(q + c)) e+ cos 2 Phi)

    At p = q = c = 1 this is sum 1/2 (1 - k) + C^2/2 (1 + k) + C^2/2 (1 + (1 - 4 Omega^2) k), with
    k = e^{-2 Omega^2} cos 2 Phi.

    >>> one = torch.ones(1, dtype=torch.float64)
    >>> k = float(torch.exp(torch.tensor(-2.0)))
    >>> value = shared_sinusoid_kernel(*unit(1.0), SineSeriesDual(one, one, 0 * one))
    >>> abs(float(value) - ((1 - k) / 2 + (1 + k) / 2 + (1 - 3 * k) / 2)) < 1e-7
    True
    """
    total = torch.zeros(torch.broadcast_shapes(p.shape, c.shape, q.shape), dtype=torch.float64, device=c.device)
    for amplitude, frequency, phase in zip(series.amplitude, series.frequency, series.phase, strict=True):
        square = frequency**2
        near = torch.exp(-square * (p + q - 2 * c).clamp(min=0) / 2)
        far = torch.exp(-square * (p + q + 2 * c).clamp(min=0) / 2) * torch.cos(2 * phase)
        total += (near - far) / 2 + amplitude**2 / 2 * (near + far)
        total += amplitude**2 / 2 * (near * (c + square * (p - c) * (q - c)) + far * (c - square * (p + c) * (q + c)))
    return total


def shared_sinusoid_gram(variance: float, series: SineSeriesDual) -> Tensor:
    """G = E[g g^T], g the gradient of rho(u) in (C, Omega, Phi), u ~ N(0, variance); shape (3 terms, 3 terms).

    In a wide network the gradient of the output in a layer's shared parameters is N(0, G) over the draw of the later
    weights, so the added kernel at one point has mean tr G and variance 2 tr G^2: it stays random at any width.

    Each entry of g is a u^k Re(z e^{i Omega u}), and E[u^k e^{isu}] follows from the characteristic function.

    >>> one = torch.ones(1, dtype=torch.float64)
    >>> gram = shared_sinusoid_gram(1.0, SineSeriesDual(one, one, 0 * one))
    >>> same = shared_sinusoid_kernel(*unit(1.0), SineSeriesDual(one, one, 0 * one))
    >>> torch.allclose(gram.trace(), same)
    True
    """
    if float(finite("variance", variance, largest=LARGEST**2)) < 0:
        raise ValueError(f"variance must be at least 0, got {variance}")
    angle = torch.exp(1j * series.phase)
    one, zero = torch.ones_like(series.amplitude), torch.zeros_like(series.amplitude)
    # sin t = Re(-i e^{it}); cos t = Re(e^{it}).
    coefficient = torch.cat([-1j * angle, series.amplitude * angle, series.amplitude * angle])
    power = torch.cat([zero, one, zero])
    frequency = series.frequency.repeat(3)
    order = power[:, None] + power[None, :]

    def expectation(s: Tensor) -> Tensor:
        characteristic = torch.exp(-(s**2) * variance / 2)
        first = 1j * s * variance * characteristic
        second = (variance - (s * variance) ** 2) * characteristic
        return torch.where(order == 0, characteristic + 0j, torch.where(order == 1, first, second + 0j))

    with_sum = coefficient[:, None] * coefficient[None, :] * expectation(frequency[:, None] + frequency[None, :])
    with_difference = coefficient[:, None] * coefficient.conj()[None, :] * expectation(frequency[:, None] - frequency)
    return (with_sum + with_difference).real / 2


def shared_sinusoid_spread(variance: float, series: SineSeriesDual) -> tuple[float, float]:
    """Mean and standard deviation, at one input and infinite width, of what trained shared sinusoids add to the NTK.

    >>> one = torch.ones(1, dtype=torch.float64)
    >>> mean, spread = shared_sinusoid_spread(1.0, SineSeriesDual(one, one, 0 * one))
    >>> round(mean, 3), round(spread, 3)
    (1.297, 1.126)
    """
    gram = shared_sinusoid_gram(variance, series)
    return float(gram.trace()), float((2 * (gram @ gram).trace()).sqrt())


def kernel_comparison_data(
    series: Sequence[SineSeriesDual],
    *,
    names: Sequence[str] | None = None,
    depth: int = 3,
    points: int = 401,
    omega0: float = 2.0,
    sigma: float = 1.0,
) -> Document:
    """Arrays for the figure of dual and NTK over the correlation xi, for sine series, sine, Gaussian and ReLU.

    Every activation is normalised (dual(1) = 1) and the NTK, of `depth` hidden layers, divided by its value at xi = 1.
    `names` are those of the series, by default their number of terms.
    Keys: `xi` (points,), `names`, `dual` and `ntk` (len(names), points).

    >>> data = kernel_comparison_data([], depth=1, points=5)
    >>> data["names"], data["dual"].shape
    (['sine, ω₀ = 2', 'Gaussian, σ = 1', 'ReLU'], (3, 5))
    """
    xi = torch.linspace(-1, 1, points, dtype=torch.float64)
    labels = [f"STAF, τ = {len(s.amplitude)}" for s in series] if names is None else names
    named: list[tuple[str, Dual]] = list(zip(labels, series, strict=True))
    named += [(f"sine, ω₀ = {omega0:g}", SineDual(omega0)), (f"Gaussian, σ = {sigma:g}", GaussianDual(sigma))]
    named += [("ReLU", ReLUDual())]
    anchor = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    circle = torch.stack([xi, (1 - xi**2).clamp(min=0).sqrt()], 1)
    dual, ntk = [], []
    for _, act in named:
        scaled = act.normalised()
        dual.append(scaled.value(*unit(xi)).numpy())
        kernel = nngp_ntk(anchor, [scaled] * depth, circle).ntk[0].numpy()
        ntk.append(kernel / kernel[-1])
    return {"xi": xi.numpy(), "names": [n for n, _ in named], "dual": np.stack(dual), "ntk": np.stack(ntk)}


def _series(act: Dual, layer: int) -> SineSeriesDual:
    if isinstance(act, SineSeriesDual):
        return act
    if isinstance(act, Scaled) and isinstance(act.inner, SineSeriesDual):
        return SineSeriesDual(act.inner.amplitude * act.factor, act.inner.frequency, act.inner.phase)
    raise ValueError(f"shared_sinusoids needs sine-series activations, got {act!r} at layer {layer}")
