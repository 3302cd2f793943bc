"""Derivatives of sin(omega0 s x), s = abs(x) + 1 held constant: (omega0 s)^k sin(omega0 s x + k pi / 2)."""

from __future__ import annotations

import torch
from torch import Tensor


def derivative(x: Tensor, omega0: float, order: int) -> Tensor:
    """The derivative of the given order in x; order 0 is the function."""
    rate = omega0 * (x.detach().abs() + 1)
    turned = torch.cos(rate * x) if order % 2 else torch.sin(rate * x)
    sign = -1 if order % 4 >= 2 else 1
    return turned if order == 0 else sign * rate**order * turned
