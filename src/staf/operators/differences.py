"""Gradients and Laplacians of sampled signals by differences: what a gradient-domain problem observes."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.operators.linear import checked, checked_shape


class Gradient:
    """(A x)_k = the next sample along axis k minus this one, 0 at the last: (..., *shape) to (..., d, *shape).

    >>> Gradient((3,)).A(torch.tensor([1.0, 2.0, 4.0]))
    tensor([[1., 2., 0.]])
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.input_shape = checked_shape(shape)
        self.output_shape = (len(self.input_shape), *self.input_shape)

    def A(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.input_shape)
        axes = range(-len(self.input_shape), 0)
        parts = [torch.cat([x.diff(dim=axis), torch.zeros_like(x.narrow(axis, 0, 1))], axis) for axis in axes]
        return torch.stack(parts, -len(self.input_shape) - 1)

    def A_adjoint(self, y: Tensor) -> Tensor:
        y = checked("y", y, self.output_shape)
        total = torch.zeros_like(y.select(-len(self.output_shape), 0))
        for number, axis in enumerate(range(-len(self.input_shape), 0)):
            part = y.select(-len(self.output_shape), number)
            size = part.shape[axis]
            inside = part.narrow(axis, 0, size - 1)
            zero = torch.zeros_like(part.narrow(axis, 0, 1))
            total = total + torch.cat([zero, inside], axis) - torch.cat([inside, zero], axis)
        return total


class Laplacian:
    """A x = minus the adjoint of the gradient of the gradient: the sum of differences to all neighbours.

    >>> Laplacian((3,)).A(torch.tensor([0.0, 1.0, 0.0]))
    tensor([ 1., -2.,  1.])
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._gradient = Gradient(shape)
        self.input_shape = self.output_shape = self._gradient.input_shape

    def A(self, x: Tensor) -> Tensor:
        return -self._gradient.A_adjoint(self._gradient.A(x))

    def A_adjoint(self, y: Tensor) -> Tensor:
        checked("y", y, self.output_shape)
        return self.A(y)
