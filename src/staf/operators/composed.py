"""Several operators one after the other: blur, then coarser samples, then only some of them."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from staf.operators.linear import LinearOperator


class Composed:
    """A = A_n ... A_2 A_1; the first operator acts first.

    >>> from staf.operators.area_downsampling import AreaDownsampling
    >>> from staf.operators.blur import GaussianBlur
    >>> seen = Composed(GaussianBlur((8, 8), 1.0), AreaDownsampling((8, 8), 2))
    >>> seen.A(torch.ones(8, 8)).shape
    torch.Size([4, 4])
    """

    def __init__(self, *operators: LinearOperator) -> None:
        if not operators:
            raise ValueError("at least one operator must be given")
        for before, after in itertools.pairwise(operators):
            if tuple(before.output_shape) != tuple(after.input_shape):
                raise ValueError(
                    f"{type(after).__name__} takes shape {tuple(after.input_shape)}, and "
                    f"{type(before).__name__} before it gives {tuple(before.output_shape)}"
                )
        self.operators = operators
        self.input_shape, self.output_shape = operators[0].input_shape, operators[-1].output_shape

    def A(self, x: Tensor) -> Tensor:
        for operator in self.operators:
            x = operator.A(x)
        return x

    def A_adjoint(self, y: Tensor) -> Tensor:
        for operator in reversed(self.operators):
            y = operator.A_adjoint(y)
        return y

    def to(self, device: torch.device | str) -> Composed:
        """The same operators on another device."""
        return Composed(*(operator.to(device) if hasattr(operator, "to") else operator for operator in self.operators))
