"""Launches of `triton_kernels`: what `plain` computes, on CUDA. Nothing here waits for the device."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
from torch import Tensor

from staf.ops.complex_linear.matrices import real_numbers
from staf.ops.gabor.triton import constants
from staf.ops.gabor_network.plain import Wave
from staf.ops.gabor_network.triton_kernels import fold_kernel, gradient_kernel, matrix_kernel, value_kernel
from staf.ops.linear.triton_kernels import finish_kernel

# Rows and complex columns of a tile; a gradient has about this many programs, which add up their rows.
VALUE_ROWS, GRADIENT_ROWS, COLUMNS = 32, 16, 32
PROGRAMS = 132 * 32
BLOCK = 1024


def value(inner: Tensor, shifts: Sequence[Tensor], wave: Wave) -> Tensor:
    """As `plain.value`, of contiguous numbers."""
    networks, points, _ = inner.shape
    out = _empty(inner, networks, points, 2 * wave.width, wave.planes)
    grid = (triton.cdiv(wave.width, COLUMNS) * triton.cdiv(points, VALUE_ROWS), networks)
    value_kernel[grid](
        inner,
        _shifts(inner, shifts),
        out,
        points,
        *constants(wave.omega0, wave.sigma0),
        ROWS=VALUE_ROWS,
        **_options(shifts, wave),
    )
    return out


def gradient(
    grad: Tensor, inner: Tensor, shifts: Sequence[Tensor], wave: Wave, again: torch.dtype | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """As `plain.gradient`, of contiguous numbers."""
    networks, points, columns = inner.shape
    blocks = triton.cdiv(wave.width, COLUMNS)
    most = triton.cdiv(points, GRADIENT_ROWS)
    share = triton.cdiv(most, max(1, min(most, PROGRAMS // (blocks * networks)))) * GRADIENT_ROWS
    slots = triton.cdiv(points, share)
    out = _empty(inner, networks, points, columns, wave.planes)
    made = None if again is None else _empty(inner, networks, points, 2 * wave.width, again, 2)
    partial = torch.empty(networks, slots, columns, device=inner.device, dtype=torch.float32)
    gradient_kernel[(blocks, slots, networks)](
        grad.contiguous(),
        inner,
        _shifts(inner, shifts),
        out,
        out if made is None else made,
        partial,
        points,
        share,
        slots,
        *constants(wave.omega0, wave.sigma0),
        ROWS=GRADIENT_ROWS,
        AGAIN=made is not None,
        **_options(shifts, wave),
    )
    sums = torch.empty(networks, columns, device=inner.device, dtype=torch.float32)
    finish_kernel[(triton.cdiv(columns, 8), networks)](partial, partial, sums, columns, 0, slots, SLOTS=256, BLOCK=8)
    return out, sums, made


def matrices(
    layers: Sequence[Sequence[Tensor]], width: int, dtype: torch.dtype | None, transposed: bool
) -> Sequence[Tensor]:
    """As `plain.matrices`, all layers in one launch."""
    if not layers:
        return ()
    maps, (networks, size, _) = len(layers[0]), layers[0][0].shape
    given = tuple(real_numbers(weight.contiguous()) for weights in layers for weight in weights)
    rows, columns = (1, maps) if transposed else (maps, 1)
    out = _empty(given[0], len(layers) * networks, 2 * width * rows, 2 * width * columns, dtype)
    matrix_kernel[(triton.cdiv(4 * width * width, BLOCK), len(given) * networks)](
        given,
        out,
        networks,
        SIZE=size,
        WIDTH=width,
        MAPS=maps,
        LAYERS=len(layers),
        PLANES=1 if dtype is None else 3,
        TRANSPOSED=transposed,
        BLOCK=BLOCK,
    )
    return out.unflatten(0, (len(layers), networks)).unbind()


def folded(totals: Sequence[Sequence[Tensor]], size: int, width: int, maps: int) -> list[list[Tensor]]:
    """As `plain.folded`, all layers in one launch."""
    if not totals:
        return []
    networks, layers = totals[0][0].shape[0], len(totals)
    out = torch.empty(layers, maps, networks, size, size, 2, device=totals[0][0].device, dtype=torch.float32)
    uppers, lowers = ([parts[index].contiguous() for parts in totals] for index in (0, -1))
    fold_kernel[(triton.cdiv(size * size, BLOCK // 4), layers * maps * networks)](
        tuple(uppers),
        tuple(lowers),
        out,
        networks,
        SIZE=size,
        WIDTH=width,
        MAPS=maps,
        LAYERS=layers,
        SPLIT=len(totals[0]) > 1,
        BLOCK=BLOCK // 4,
    )
    return [list(one.unbind()) for one in torch.view_as_complex(out)]


def _empty(like: Tensor, networks: int, rows: int, columns: int, dtype: torch.dtype | None, planes: int = 3) -> Tensor:
    """Memory for numbers, or for their planes of a type."""
    if dtype is None:
        return torch.empty(networks, rows, columns, device=like.device, dtype=torch.float32)
    return torch.empty(networks, rows, planes * columns, device=like.device, dtype=dtype)


def _shifts(inner: Tensor, shifts: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The biases of both maps; where there is none, something that is not read."""
    given = [real_numbers(shift.contiguous()) for shift in shifts] or [inner]
    return given[0], given[-1]


def _options(shifts: Sequence[Tensor], wave: Wave) -> dict[str, int | bool]:
    return {
        "SIZE": shifts[0].shape[-1] if shifts else wave.width,
        "WIDTH": wave.width,
        "MAPS": wave.maps,
        "COMPLEX": wave.is_complex,
        "PLANES": 1 if wave.planes is None else 3,
        "COLUMNS": COLUMNS,
    }
