"""Mask: only some samples are observed."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Bool
from staf.operators.linear import checked


class Mask:
    """A x = the samples where `mask` is true, in C order; the adjoint puts them back and fills zeros.

    >>> mask = Mask(torch.tensor([[True, False], [False, True]]))
    >>> mask.A(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    >>> mask.A_adjoint(torch.tensor([1.0, 4.0]))
    tensor([[1., 0.],
            [0., 4.]])
    """

    def __init__(self, mask: Bool[Tensor, "*shape"]) -> None:
        if mask.dtype != torch.bool or mask.dim() == 0:
            raise ValueError(f"mask must be a bool tensor with at least one axis, got {mask.dtype} {tuple(mask.shape)}")
        if not mask.any():
            raise ValueError("mask must let at least one sample be seen, got none")
        self.mask = mask
        self.index = mask.flatten().nonzero().squeeze(-1)
        self.input_shape = tuple(mask.shape)
        self.output_shape: tuple[int, ...] = (len(self.index),)

    def A(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.input_shape)
        return x.flatten(x.dim() - len(self.input_shape)).index_select(-1, self.index.to(x.device))

    def samples_of(self, index: Tensor) -> Tensor:
        """The flat index (1, n) of the sample behind each observation in `index` (n,)."""
        return self.index.to(index.device)[index][None]

    def to(self, device: torch.device | str) -> Mask:
        """The same mask on another device."""
        return Mask(self.mask.to(device))

    def A_adjoint(self, y: Tensor) -> Tensor:
        y = checked("y", y, self.output_shape)
        leading = y.shape[:-1]
        flat = y.new_zeros(*leading, self.mask.numel()).index_copy(-1, self.index.to(y.device), y)
        return flat.reshape(*leading, *self.input_shape)
