"""Area downsampling: each coarse sample is the mean of the cells it covers."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from staf.operators.linear import checked, checked_shape


class AreaDownsampling:
    """(A x)_j = mean of x over the s x ... x s cells of coarse cell j; the adjoint spreads y_j / s^d over them.

    Cells are aligned: coarse cell j covers exactly the fine cells s j to s j + s - 1, so with the `centres` convention
    both grids sample the same function.

    >>> import torch
    >>> AreaDownsampling((2, 4), 2).A(torch.tensor([[0.0, 1.0, 4.0, 4.0], [2.0, 1.0, 4.0, 0.0]]))
    tensor([[1., 3.]])
    """

    def __init__(self, shape: tuple[int, ...], factor: int) -> None:
        self.input_shape = checked_shape(shape)
        self.factor = checked_factor(factor)
        if any(size % factor for size in self.input_shape):
            whole = "x".join(str(size // factor * factor) for size in self.input_shape)
            raise ValueError(
                f"factor must divide every side, got factor {factor} for {'x'.join(map(str, self.input_shape))}; "
                f"the largest part it divides is {whole}"
            )
        self.output_shape = tuple(size // factor for size in self.input_shape)
        self._split = tuple(part for size in self.output_shape for part in (size, factor))
        self._within = tuple(range(-2 * len(self.output_shape) + 1, 0, 2))

    def A(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.input_shape)
        leading = x.shape[: x.dim() - len(self.input_shape)]
        return x.reshape(*leading, *self._split).mean(self._within)

    def samples_of(self, index: Tensor) -> Tensor:
        """The flat indices (factor^d, n) of the fine cells that the coarse cells `index` (n,) cover.

        >>> import torch
        >>> AreaDownsampling((2, 4), 2).samples_of(torch.tensor([1])).flatten().tolist()
        [2, 3, 6, 7]
        """
        axes = len(self.input_shape)
        within = torch.arange(self.factor, device=index.device)
        flat, stride = torch.zeros((1,) * axes + (1,), dtype=torch.long, device=index.device), 1
        for axis in reversed(range(axes)):
            offsets = within.reshape([-1 if other == axis else 1 for other in range(axes)] + [1])
            flat = flat + (index % self.output_shape[axis] * self.factor + offsets) * stride
            stride *= self.input_shape[axis]
            index = index // self.output_shape[axis]
        return flat.reshape(-1, flat.shape[-1])

    def A_adjoint(self, y: Tensor) -> Tensor:
        y = checked("y", y, self.output_shape)
        first = y.dim() - len(self.output_shape)
        for axis in range(first, y.dim()):
            y = y.repeat_interleave(self.factor, axis)
        return y / math.prod([self.factor] * len(self.output_shape))


def checked_factor(factor: int) -> int:
    """A whole number of at least 1.

    >>> checked_factor(0)
    Traceback (most recent call last):
    ValueError: factor must be a whole number of at least 1, got 0
    """
    if not isinstance(factor, int) or isinstance(factor, bool) or factor < 1:
        raise ValueError(f"factor must be a whole number of at least 1, got {factor!r}")
    return factor
