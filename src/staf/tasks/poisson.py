"""Least squares in the gradient domain: conjugate gradients, helped by the cosine transform."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from staf.nn.mfcc import cosines
from staf.operators import Gradient, Laplacian, LinearOperator
from staf.tasks.solvers import Map, conjugate_gradients

MOST_STEPS = 1500
TOLERANCE = 1e-7


def least_squares(operator: LinearOperator, observation: Tensor, seen: Tensor, strength: float = 0.0) -> Tensor:
    """The least x with the least |A x - y|^2 over the observations that are seen.

    >>> line = torch.tensor([[0.0, 1.0, 4.0, 9.0]])
    >>> slope = Gradient((4,))
    >>> found = least_squares(slope, slope.A(line), torch.ones(1, 4, dtype=torch.bool))
    >>> (found - found[:, :1]).round(decimals=3)
    tensor([[0., 1., 4., 9.]])
    """
    weight = seen.double()
    right = operator.A_adjoint(observation.double() * weight)

    def normal(x: Tensor) -> Tensor:
        return operator.A_adjoint(operator.A(x) * weight)

    faster = preconditioner(operator)
    found = conjugate_gradients(normal, right, steps=MOST_STEPS, tolerance=TOLERANCE**2, faster=faster)
    return found.to(observation.dtype)


def preconditioner(operator: LinearOperator) -> Map:
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
