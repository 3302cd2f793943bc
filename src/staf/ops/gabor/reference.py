"""The definition of WIRE's wavelet."""

from __future__ import annotations

import torch
from torch import Tensor


def gabor_reference(x: Tensor, omega0: float, sigma0: float, orthogonal: Tensor | None = None) -> Tensor:
    """exp(i omega0 x - |sigma0 x|^2), times exp(-|sigma0 y|^2) where an orthogonal window y is given.

    The squares are of real and imaginary parts, whose second derivative exists at zero; that of |x| does not.
    """
    envelope = -(sigma0**2) * (_square(x) if orthogonal is None else _square(x) + _square(orthogonal))
    if not x.is_complex():
        return torch.exp(torch.complex(envelope, omega0 * x))
    return torch.exp(torch.complex(envelope - omega0 * x.imag, omega0 * x.real))


def _square(x: Tensor) -> Tensor:
    return x.real.square() + x.imag.square() if x.is_complex() else x.square()
