"""Undersampled Fourier transforms: what a magnetic resonance scanner measures of a picture."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Bool
from staf.operators.linear import checked


class MaskedFourier:
    """A x = the Fourier coefficients of each coil's image where `mask` is true, as pairs of real and imaginary part.

    The transform is orthonormal, with frequency zero in the middle (index n // 2 of each axis), as in data of scanners.
    Coil c sees S_c x, with the sensitivity S_c; without sensitivities there is one coil that sees x.

    Args:
        mask: bool (*shape), which frequencies are measured.
        sensitivities: complex (coils, *shape).

    >>> constant = torch.ones(4, 4)
    >>> MaskedFourier(torch.ones(4, 4, dtype=torch.bool)).A(constant).reshape(4, 4, 2)[2, 2]
    tensor([4., 0.])
    """

    def __init__(self, mask: Bool[Tensor, "*shape"], sensitivities: Tensor | None = None) -> None:
        if mask.dtype != torch.bool or mask.dim() == 0:
            raise ValueError(f"mask must be a bool tensor with at least one axis, got {mask.dtype} {tuple(mask.shape)}")
        if not mask.any():
            raise ValueError("mask must let at least one frequency be measured, got none")
        if sensitivities is not None and (
            not sensitivities.is_complex() or tuple(sensitivities.shape[1:]) != tuple(mask.shape)
        ):
            raise ValueError(
                f"sensitivities must be complex with shape (coils, {', '.join(map(str, mask.shape))}), got "
                f"{sensitivities.dtype} {tuple(sensitivities.shape)}"
            )
        self.mask, self.sensitivities = mask, sensitivities
        self.index = mask.flatten().nonzero().squeeze(-1)
        self.input_shape: tuple[int, ...] = tuple(mask.shape)
        self.coils = 1 if sensitivities is None else len(sensitivities)
        self.output_shape: tuple[int, ...] = (self.coils, len(self.index), 2)
        self._axes = tuple(range(-mask.dim(), 0))

    def A(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.input_shape)
        leading = x.shape[: x.dim() - len(self.input_shape)]
        seen = x.unsqueeze(len(leading)) * self._sensitivities(x)
        centred = torch.fft.ifftshift(seen, dim=self._axes)
        measured = torch.fft.fftshift(torch.fft.fftn(centred, dim=self._axes, norm="ortho"), dim=self._axes)
        kept = measured.flatten(len(leading) + 1).index_select(-1, self.index.to(x.device))
        return torch.view_as_real(kept)

    def A_adjoint(self, y: Tensor) -> Tensor:
        y = checked("y", y, self.output_shape)
        leading = y.shape[:-3]
        kept = torch.view_as_complex(y.contiguous())
        full = kept.new_zeros(*leading, self.coils, self.mask.numel()).index_copy(-1, self.index.to(y.device), kept)
        grid = torch.fft.ifftshift(full.reshape(*leading, self.coils, *self.input_shape), dim=self._axes)
        seen = torch.fft.fftshift(torch.fft.ifftn(grid, dim=self._axes, norm="ortho"), dim=self._axes)
        return (seen * self._sensitivities(y).conj()).sum(len(leading)).real

    def to(self, device: torch.device | str) -> MaskedFourier:
        """The same mask and sensitivities on another device."""
        there = None if self.sensitivities is None else self.sensitivities.to(device)
        return MaskedFourier(self.mask.to(device), there)

    def _sensitivities(self, like: Tensor) -> Tensor:
        dtype = torch.complex128 if like.dtype == torch.float64 else torch.complex64
        if self.sensitivities is None:
            return torch.ones((1, *(1 for _ in self.input_shape)), dtype=dtype, device=like.device)
        return self.sensitivities.to(like.device, dtype)


def cartesian_mask(
    shape: tuple[int, int], acceleration: float, *, centre: float = 0.08, generator: torch.Generator | None = None
) -> Bool[Tensor, "rows columns"]:
    """A mask of 1 / acceleration of the columns of frequencies: the share `centre` in the middle, and random others.

    >>> mask = cartesian_mask((8, 100), 4, generator=torch.Generator().manual_seed(0))
    >>> mask.float().mean().item(), mask[:, 46:54].all().item()
    (0.25, True)
    """
    rows, columns = shape
    if not acceleration >= 1:
        raise ValueError(f"acceleration must be at least 1, got {acceleration}")
    wanted = max(1, round(columns / acceleration))
    middle = min(wanted, max(1, round(columns * centre)))
    chosen = torch.zeros(columns, dtype=torch.bool)
    first = columns // 2 - middle // 2
    chosen[first : first + middle] = True
    others = (~chosen).nonzero().squeeze(-1)
    order = torch.randperm(len(others), generator=generator)[: wanted - middle]
    chosen[others[order]] = True
    return chosen.expand(rows, columns).clone()
