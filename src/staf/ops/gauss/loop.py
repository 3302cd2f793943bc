"""Derivatives of exp(-(sigma x)^2), by phi_{k+1} = -2 sigma^2 (x phi_k + k phi_{k-1})."""

from __future__ import annotations

import torch
from torch import Tensor


def derivative(x: Tensor, sigma: float, order: int) -> Tensor:
    """The derivative of the given order in x; order 0 is the function."""
    current = torch.exp(-((sigma * x) ** 2))
    previous = torch.zeros_like(x)
    for k in range(order):
        current, previous = -2 * sigma**2 * (x * current + k * previous), current
    return current
