"""Fourier Learning Machines in this family: a trained Fourier series is a network of one layer of sines.

The machine of Rubel et al. has the output  f(x) = sum_j a_j prod_d cos(omega_{jd} x_d + phi_{jd}),  a nonharmonic
Fourier series in a separable basis, all of it trained. A product of d cosines is a sum of 2^{d-1} cosines of sums, so f
is

    f(x) = sum_j sum_s 2^{1-d} a_j sin(<s * omega_j, x> + <s, phi_j> + pi/2),     s in {1} x {-1, 1}^{d-1},

which is `siren` (or `staf` with one term) of depth 1. What depth adds is not a larger set of functions of one layer but
sums and differences of its frequencies (`staf.theory.potential_frequencies`).

>>> series = SeparableSeries(torch.tensor([[1.0], [0.5]]), torch.tensor([[2.0, 3.0], [1.0, 5.0]]), torch.zeros(2, 2))
>>> x = torch.rand(20, 2)
>>> torch.allclose(series(x), series.to_network()(x), atol=1e-5)
True
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from staf._typing import Float
from staf.nn import CoordinateMLP, siren
from staf.theory.checks import finite_tensor


@dataclass(frozen=True)
class SeparableSeries:
    """amplitude a (terms, outputs), frequency omega and phase phi (terms, d)."""

    amplitude: Float[Tensor, "terms c"]
    frequency: Float[Tensor, "terms d"]
    phase: Float[Tensor, "terms d"]

    def __post_init__(self) -> None:
        for name in ("amplitude", "frequency", "phase"):
            if finite_tensor(name, getattr(self, name)).ndim != 2:
                raise ValueError(f"{name} must have two axes, got shape {tuple(getattr(self, name).shape)}")
        if self.frequency.shape != self.phase.shape or len(self.amplitude) != len(self.frequency):
            raise ValueError(
                "frequency and phase must have the same shape (terms, d), and amplitude as many rows, got "
                f"{tuple(self.frequency.shape)}, {tuple(self.phase.shape)} and {tuple(self.amplitude.shape)}"
            )

    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """sum_j a_j prod_d cos(omega_jd x_d + phi_jd)."""
        return torch.cos(x[:, None, :] * self.frequency + self.phase).prod(-1) @ self.amplitude

    def to_network(self) -> CoordinateMLP:
        """The network of one sine layer, terms 2^{d-1} neurons wide, that equals the series."""
        inputs = self.frequency.shape[1]
        signs = torch.tensor([(1, *rest) for rest in itertools.product((1, -1), repeat=inputs - 1)])
        signs = signs.to(self.frequency)
        weight = (signs[:, None] * self.frequency).reshape(-1, inputs)
        bias = (signs[:, None] * self.phase).sum(-1).reshape(-1) + math.pi / 2
        field = siren(inputs, self.amplitude.shape[1], width=len(weight), depth=1, omega0=1.0)
        field = field.to(device=weight.device, dtype=weight.dtype)
        with torch.no_grad():
            field.layers[0].weight.copy_(weight)  # type: ignore[operator, union-attr]
            field.layers[0].bias.copy_(bias)  # type: ignore[operator, union-attr]
            field.output.weight.copy_(self.amplitude.repeat(len(signs), 1).T / len(signs))
            field.output.bias.zero_()
        return field
