"""Identity: everything is observed."""

from __future__ import annotations

from torch import Tensor

from staf.operators.linear import checked, checked_shape


class Identity:
    """A x = x on a grid of `shape`.

    >>> import torch
    >>> Identity((2, 3)).A(torch.ones(2, 3)).sum()
    tensor(6.)
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.input_shape = self.output_shape = checked_shape(shape)

    def A(self, x: Tensor) -> Tensor:
        return checked("x", x, self.input_shape)

    def A_adjoint(self, y: Tensor) -> Tensor:
        return checked("y", y, self.output_shape)
