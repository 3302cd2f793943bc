"""Blur: each sample is a weighted mean of those around it."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor

from staf.operators.linear import checked, checked_shape

# A Gaussian is cut off so many standard deviations away.
REACH = 4.0


class GaussianBlur:
    """Convolution with a Gaussian whose standard deviation is `sigma` samples along each axis; edges are mirrored.

    >>> blurred = GaussianBlur((5,), 0.5).A(torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]))
    >>> [round(value, 3) for value in blurred.tolist()]
    [0.0, 0.106, 0.787, 0.106, 0.0]
    """

    def __init__(self, shape: tuple[int, ...], sigma: float) -> None:
        self.input_shape = self.output_shape = checked_shape(shape)
        if not 0 < sigma < 1e4:
            raise ValueError(f"sigma must be positive, got {sigma}")
        self.sigma = float(sigma)
        reach = max(1, math.ceil(REACH * sigma))
        offsets = torch.arange(-reach, reach + 1, dtype=torch.float64)
        kernel = torch.exp(-0.5 * (offsets / sigma).square())
        self.kernel = kernel / kernel.sum()
        self.reach = reach

    def A(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.input_shape)
        for axis in range(-len(self.input_shape), 0):
            x = self._along(x, axis, adjoint=False)
        return x

    def A_adjoint(self, y: Tensor) -> Tensor:
        y = checked("y", y, self.output_shape)
        for axis in range(-len(self.input_shape), 0):
            y = self._along(y, axis, adjoint=True)
        return y

    def to(self, device: torch.device | str) -> GaussianBlur:
        """The same blur on another device."""
        moved = copy.copy(self)
        moved.kernel = self.kernel.to(device)
        return moved

    def _along(self, x: Tensor, axis: int, *, adjoint: bool) -> Tensor:
        moved = x.movedim(axis, -1)
        size = moved.shape[-1]
        flat = moved.reshape(-1, 1, size)
        kernel = self.kernel.to(x.device, x.dtype)[None, None]
        source = mirrored(torch.arange(-self.reach, size + self.reach, device=x.device), size)
        if adjoint:
            spread = torch.nn.functional.conv_transpose1d(flat, kernel)
            out = torch.zeros_like(flat).index_add(-1, source, spread)
        else:
            out = torch.nn.functional.conv1d(flat[..., source], kernel)
        return out.reshape(moved.shape).movedim(-1, axis)


def mirrored(index: Tensor, size: int) -> Tensor:
    """Indices beyond an axis of `size` samples, taken back into it at its edges as often as needed.

    >>> mirrored(torch.arange(-2, 5), 3).tolist()
    [1, 0, 0, 1, 2, 2, 1]
    """
    index = index % (2 * size)
    return torch.where(index < size, index, 2 * size - 1 - index)
