"""Window: samples outside of a region count as zero."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Bool
from staf.operators.linear import checked


class Window:
    """A x = x where `inside` is true, and 0 elsewhere; it is its own adjoint.

    >>> Window(torch.tensor([True, False])).A(torch.tensor([2.0, 3.0]))
    tensor([2., 0.])
    """

    def __init__(self, inside: Bool[Tensor, "*shape"]) -> None:
        if inside.dtype != torch.bool or inside.dim() == 0:
            raise ValueError(f"inside must be a bool tensor with axes, got {inside.dtype} {tuple(inside.shape)}")
        self.inside = inside
        self.input_shape = self.output_shape = tuple(inside.shape)

    def A(self, x: Tensor) -> Tensor:
        return checked("x", x, self.input_shape) * self.inside.to(x.device)

    def A_adjoint(self, y: Tensor) -> Tensor:
        return checked("y", y, self.output_shape) * self.inside.to(y.device)

    def to(self, device: torch.device | str) -> Window:
        """The same window on another device."""
        return Window(self.inside.to(device))
