"""Dual activations: E[phi(u) phi(v)] and E[phi'(u) phi'(v)] for jointly Gaussian (u, v), in closed form.

Each activation with a closed form is a small class with the same two methods, `value` and `derivative`, of the
covariance (p, c, q) = (Var u, Cov(u, v), Var v). By Price's theorem the second is the derivative of the first in c.

>>> sine = SineDual(1.0)
>>> round(float(sine.value(*unit(0.5))), 4)          # e^-1 sinh(1/2)
0.1917
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from staf._typing import Float
from staf.theory.checks import LARGEST, finite, finite_tensor

Covariance = tuple[Tensor, Tensor, Tensor]


def unit(xi: Tensor | float) -> Covariance:
    """The covariance (1, xi, 1) of the unit-variance form, in float64.

    >>> [float(v) for v in unit(0.25)]
    [1.0, 0.25, 1.0]
    """
    c = torch.as_tensor(xi, dtype=torch.float64)
    inside = c.abs() <= 1
    if not bool(inside.all()):
        raise ValueError(f"xi must lie in [-1, 1], a correlation; got {float(c[~inside].flatten()[0])}")
    return torch.ones_like(c), c, torch.ones_like(c)


class Dual(ABC):
    """An elementwise activation whose Gaussian expectations are known in closed form."""

    @abstractmethod
    def value(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        """E[phi(u) phi(v)] for (u, v) ~ N(0, [[p, c], [c, q]]), elementwise over broadcast tensors."""

    @abstractmethod
    def derivative(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        """E[phi'(u) phi'(v)] for the same law."""

    @abstractmethod
    def activation(self, x: Tensor) -> Tensor:
        """phi(x) itself."""

    def normalised(self) -> Scaled:
        """The activation divided by sqrt(E[phi(u)^2]), u ~ N(0, 1), so that the dual is 1 at xi = 1."""
        at_one = float(self.value(*unit(1.0)))
        if at_one <= 0:
            raise ValueError(f"an activation that is zero cannot be normalised: E[phi(u)^2] is {at_one}")
        return Scaled(self, 1 / math.sqrt(at_one))


@dataclass(frozen=True)
class Scaled(Dual):
    """factor * phi.

    >>> round(float(ReLUDual().normalised().value(*unit(1.0))), 12)
    1.0
    """

    inner: Dual
    factor: float

    def value(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        return self.factor**2 * self.inner.value(p, c, q)

    def derivative(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        return self.factor**2 * self.inner.derivative(p, c, q)

    def activation(self, x: Tensor) -> Tensor:
        return self.factor * self.inner.activation(x)


class SineSeriesDual(Dual):
    """phi(x) = sum_i C_i sin(Omega_i x + Phi_i).

    With e-/+ = exp(-(Omega_i^2 p + Omega_j^2 q -/+ 2 Omega_i Omega_j c) / 2):

        E[phi phi]   = 1/2 sum C_i C_j (e- cos(Phi_i - Phi_j) - e+ cos(Phi_i + Phi_j))
        E[phi' phi'] = 1/2 sum C_i C_j Omega_i Omega_j (e- cos(Phi_i - Phi_j) + e+ cos(Phi_i + Phi_j))

    Exponents are fused, e-/+ = exp(-(Omega_i sqrt p - Omega_j sqrt q)^2 / 2 - Omega_i Omega_j (sqrt(pq) -/+ c)), so
    that nothing overflows and nothing is lost where c is close to sqrt(pq), at any frequency.

    >>> act = SineSeriesDual(torch.ones(2), torch.tensor([1.0, 30.0]), torch.zeros(2))
    >>> torch.isfinite(act.value(*unit(torch.linspace(-1, 1, 5)))).all().item()
    True
    """

    def __init__(self, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> None:
        given = {"amplitude": amplitude, "frequency": frequency, "phase": phase}
        parts = {name: finite_tensor(name, tensor).cpu() for name, tensor in given.items()}
        shape = parts["amplitude"].shape
        for name, tensor in parts.items():
            if tensor.ndim != 1 or tensor.shape != shape:
                raise ValueError(f"{name} must have shape (terms,) = {tuple(shape)}, got {tuple(tensor.shape)}")
        self.amplitude, self.frequency, self.phase = parts.values()

    def value(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        return self._sum(p, c, q, derivative=False)

    def derivative(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        return self._sum(p, c, q, derivative=True)

    def activation(self, x: Tensor) -> Tensor:
        amplitude, frequency, phase = (t.to(x.device) for t in (self.amplitude, self.frequency, self.phase))
        return (amplitude * torch.sin(frequency * x[..., None] + phase)).sum(-1)

    def _sum(self, p: Tensor, c: Tensor, q: Tensor, *, derivative: bool) -> Tensor:
        total = torch.zeros(torch.broadcast_shapes(p.shape, c.shape, q.shape), dtype=torch.float64, device=c.device)
        # C sin(Omega x + Phi) = -C sin(-Omega x - Phi): frequencies may be taken nonnegative.
        sign = torch.where(self.frequency < 0, -1.0, 1.0)
        amplitude, frequency, phase = self.amplitude * sign, self.frequency.abs(), self.phase * sign
        if derivative:
            amplitude = amplitude * frequency
        root_p, root_q = p.sqrt(), q.sqrt()
        together, apart = (root_p * root_q - c).clamp(min=0), (root_p * root_q + c).clamp(min=0)
        plus = 1.0 if derivative else -1.0
        # A loop over pairs: the temporary of points x terms x terms would not fit for large kernels.
        for i in range(len(amplitude)):
            for j in range(len(amplitude)):
                square = (frequency[i] * root_p - frequency[j] * root_q) ** 2 / 2
                product = frequency[i] * frequency[j]
                near = torch.exp(-square - product * together) * torch.cos(phase[i] - phase[j])
                far = torch.exp(-square - product * apart) * torch.cos(phase[i] + phase[j])
                total += amplitude[i] * amplitude[j] / 2 * (near + plus * far)
        return total


class SineDual(SineSeriesDual):
    """phi(x) = sin(omega0 x), SIREN's activation: e^{-omega0^2 (p + q)/2} sinh(omega0^2 c).

    >>> round(float(SineDual(2.0).derivative(*unit(0.0))), 6) == round(4 * math.exp(-4.0), 6)
    True
    """

    def __init__(self, omega0: float) -> None:
        finite("omega0", omega0)
        one = torch.ones(1, dtype=torch.float64)
        super().__init__(one, omega0 * one, 0 * one)


@dataclass(frozen=True)
class GaussianDual(Dual):
    """phi(x) = exp(-(sigma x)^2).

    E[phi phi] = D^{-1/2}, E[phi' phi'] = 4 s^2 c D^{-3/2}, s = sigma^2, D = (1 + 2sp)(1 + 2sq) - 4 s^2 c^2.

    >>> round(float(GaussianDual(1.0).value(*unit(0.0))), 12) == round(1 / 3, 12)
    True
    """

    sigma: float

    def __post_init__(self) -> None:
        finite("sigma", self.sigma)

    def _determinant(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        s = self.sigma**2
        # (1 + 2sp)(1 + 2sq) - 4s^2c^2, arranged so that pq - c^2 is formed without the large terms.
        return 1 + 2 * s * (p + q) + 4 * s**2 * ((p * q).sqrt() - c) * ((p * q).sqrt() + c)

    def value(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        return self._determinant(p, c, q).rsqrt()

    def derivative(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        return 4 * self.sigma**4 * c * self._determinant(p, c, q) ** -1.5

    def activation(self, x: Tensor) -> Tensor:
        return torch.exp(-((self.sigma * x) ** 2))


@dataclass(frozen=True)
class ReLUDual(Dual):
    """phi(x) = max(x, 0), the arc-cosine kernels with cos t = c / sqrt(pq):

    E[phi phi] = sqrt(pq) (sin t + (pi - t) cos t) / 2 pi, E[phi' phi'] = (pi - t) / 2 pi.

    >>> float(ReLUDual().value(*unit(1.0)))
    0.5
    """

    def _angle(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        root = (p * q).sqrt()
        return torch.atan2(((root - c).clamp(min=0) * (root + c).clamp(min=0)).sqrt(), c)

    def value(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        t = self._angle(p, c, q)
        return (p * q).sqrt() * (torch.sin(t) + (math.pi - t) * torch.cos(t)) / (2 * math.pi)

    def derivative(self, p: Tensor, c: Tensor, q: Tensor) -> Tensor:
        return (math.pi - self._angle(p, c, q)) / (2 * math.pi)

    def activation(self, x: Tensor) -> Tensor:
        return x.clamp(min=0)


def dual_activation(
    xi: Tensor | float,
    amplitude: Float[Tensor, " terms"],
    frequency: Float[Tensor, " terms"],
    phase: Float[Tensor, " terms"],
) -> Tensor:
    """The dual of a sine series at correlation xi, unit variances: E[rho(u) rho(v)], shape of `xi`.

    >>> one = torch.ones(1)
    >>> values = dual_activation(torch.tensor([-0.5, 0.5]), one, one, 0 * one)
    >>> [round(float(v), 4) for v in values]         # odd in xi where the phases are zero
    [-0.1917, 0.1917]
    """
    return SineSeriesDual(amplitude, frequency, phase).value(*unit(xi))


def dual_activation_derivative(
    xi: Tensor | float,
    amplitude: Float[Tensor, " terms"],
    frequency: Float[Tensor, " terms"],
    phase: Float[Tensor, " terms"],
) -> Tensor:
    """d/dxi of the dual, which is the dual of the derivative: E[rho'(u) rho'(v)].

    >>> one = torch.ones(1)
    >>> round(float(dual_activation_derivative(0.5, one, one, 0 * one)), 4)   # e^-1 cosh(1/2)
    0.4148
    """
    return SineSeriesDual(amplitude, frequency, phase).derivative(*unit(xi))


def dual_covariance(
    p: Tensor, c: Tensor, q: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor
) -> tuple[Tensor, Tensor]:
    """(E[rho rho], E[rho' rho']) of a sine series under N(0, [[p, c], [c, q]]), elementwise over broadcast tensors.

    >>> p = torch.tensor(2.0, dtype=torch.float64)
    >>> value, _ = dual_covariance(p, p, p, torch.ones(1), torch.ones(1), torch.zeros(1))
    >>> round(float(value), 6) == round((1 - math.exp(-4)) / 2, 6)     # E[sin(u)^2], Var u = 2
    True
    """
    p, c, q = (finite_tensor(name, t, largest=LARGEST**2) for name, t in (("p", p), ("c", c), ("q", q)))
    try:
        torch.broadcast_shapes(p.shape, c.shape, q.shape)
    except RuntimeError:
        raise ValueError(
            f"p, c and q must broadcast, got shapes {tuple(p.shape)}, {tuple(c.shape)} and {tuple(q.shape)}"
        ) from None
    if bool((p < 0).any() or (q < 0).any()):
        raise ValueError("p and q must be variances, at least 0; got a negative entry")
    if bool((c**2 > p * q * (1 + 1e-9)).any()):
        raise ValueError("c must be a covariance, c^2 <= p q; got a larger entry")
    act = SineSeriesDual(amplitude, frequency, phase)
    return act.value(p, c, q), act.derivative(p, c, q)
