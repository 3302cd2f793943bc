"""Derivatives of sin(omega0 x): omega0^k sin(omega0 x + k pi / 2)."""

from __future__ import annotations

import torch
from torch import Tensor


def derivative(x: Tensor, omega0: float, order: int) -> Tensor:
    """The derivative of the given order in x; order 0 is the function."""
    turned = torch.cos(omega0 * x) if order % 2 else torch.sin(omega0 * x)
    factor = omega0**order * (-1 if order % 4 >= 2 else 1)
    return turned if order == 0 else factor * turned
