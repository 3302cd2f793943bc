"""Iterations that several classical methods share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Map = Callable[[Tensor], Tensor]


def conjugate_gradients(
    matrix: Map, right: Tensor, *, steps: int, tolerance: float, faster: Map = lambda residual: residual
) -> Tensor:
    """x with A x = `right`, from zero, for a symmetric A >= 0, given as a function.

    It ends after `steps`, or when r' P r is no more than `tolerance` times what it was, with the residual r and the
    preconditioner P = `faster`.

    >>> conjugate_gradients(lambda x: torch.tensor([2.0, 4.0]) * x, torch.ones(2), steps=5, tolerance=1e-10)
    tensor([0.5000, 0.2500])
    """
    x, residual = torch.zeros_like(right), right
    direction = faster(residual)
    first = size = (residual * direction).sum()
    for _ in range(steps):
        if not size > tolerance * first:
            break
        along = matrix(direction)
        rate = size / (direction * along).sum()
        x, residual = x + rate * direction, residual - rate * along
        better = faster(residual)
        before, size = size, (residual * better).sum()
        direction = better + size / before * direction
    return x


def accelerated(start: Tensor, step: Map, steps: int) -> Tensor:
    """FISTA: `step`, a gradient step and what follows it, always from a point beyond the last two results.

    >>> accelerated(torch.zeros(1), lambda x: x + 0.1 * (1 - x), 40).round(decimals=2)
    tensor([1.])
    """
    u = v = start
    momentum = 1.0
    for _ in range(steps):
        after = step(v)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        v = after + (momentum - 1) / following * (after - u)
        u, momentum = after, following
    return u
