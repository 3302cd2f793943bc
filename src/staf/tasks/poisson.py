"""Least squares in the gradient domain: conjugate gradients, helped by the cosine transform."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from staf.operators import Gradient, Laplacian, LinearOperator

MOST_STEPS = 1500
TOLERANCE = 1e-7


def least_squares(operator: LinearOperator, observation: Tensor, seen: Tensor, strength: float = 0.0) -> Tensor:
    """The least x with the least |A x - y|^2 over the observations that are seen; `strength` is none.

    >>> line = torch.tensor([[0.0, 1.0, 4.0, 9.0]])
    >>> slope = Gradient((4,))
    >>> found = least_squares(slope, slope.A(line), torch.ones(1, 4, dtype=torch.bool))
    >>> (found - found[:, :1]).round(decimals=3)
    tensor([[0., 1., 4., 9.]])
    """
    weight = seen.double()
    data = observation.double()
    faster = preconditioner(operator)

    def normal(x: Tensor) -> Tensor:
        return operator.A_adjoint(operator.A(x) * weight)

    x = torch.zeros(len(data), *operator.input_shape, dtype=torch.float64)
    residual = operator.A_adjoint(data * weight)
    along = faster(residual)
    size = (residual * along).sum()
    first = size.clone()
    for _ in range(MOST_STEPS):
        if not size > TOLERANCE**2 * first:
            break
        moved = normal(along)
        rate = size / (along * moved).sum()
        x, residual = x + rate * along, residual - rate * moved
        better = faster(residual)
        before, size = size, (residual * better).sum()
        along = better + size / before * along
    return x.to(observation.dtype)


def preconditioner(operator: LinearOperator) -> Callable[[Tensor], Tensor]:
    """The inverse of A' A for gradients and Laplacians, which the cosine transform makes diagonal; else nothing."""
    powers = {Gradient: 1, Laplacian: 2}
    power = powers.get(type(operator))  # type: ignore[arg-type]
    if power is None:
        return lambda x: x
    bases = [cosines(size) for size in operator.input_shape]
    total = torch.zeros(())
    for axis, size in enumerate(operator.input_shape):
        of = 2 - 2 * torch.cos(math.pi * torch.arange(size, dtype=torch.float64) / size)
        total = total + of.reshape([-1 if other == axis else 1 for other in range(len(bases))])
    # A constant has no gradient: it is left alone.
    inverse = torch.where(total > 1e-12, total, 1.0) ** -power * (total > 1e-12)

    def applied(x: Tensor) -> Tensor:
        for axis, basis in enumerate(bases, start=1):
            x = torch.tensordot(x, basis, dims=([axis], [1])).movedim(-1, axis)
        x = x * inverse
        for axis, basis in enumerate(bases, start=1):
            x = torch.tensordot(x, basis, dims=([axis], [0])).movedim(-1, axis)
        return x

    return applied


def cosines(size: int) -> Tensor:
    """The orthonormal cosine transform (DCT-II) as a matrix (size, size), float64.

    >>> bool(torch.allclose(cosines(5) @ cosines(5).T, torch.eye(5, dtype=torch.float64)))
    True
    """
    at = torch.arange(size, dtype=torch.float64)
    basis = torch.cos(math.pi / size * (at + 0.5) * at[:, None]) * math.sqrt(2 / size)
    basis[0] /= math.sqrt(2)
    return basis
