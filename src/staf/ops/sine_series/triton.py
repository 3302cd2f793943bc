"""The sine series on CUDA in float32: forward, gradients and second derivatives, one pass over memory each.

Shapes and formulas are those of `loop`. Parameter sums are made in two stages, tiles first and then their results in
order: the same bits in every run, no atomics.
Nothing here waits for the device, so calls can be captured in a CUDA graph once each kernel has run.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from staf.ops.sine_series.loop import Five, Four
from staf.ops.sine_series.triton_kernels import (
    few_gradients_kernel,
    finish_kernel,
    gradients_kernel,
    second_kernel,
    value_kernel,
)

# A tile's rows, columns and warps: (few terms or little work, otherwise), chosen by timing on an H200.
SHARED_VALUE_TILES = ((1, 1024, 4), (4, 512, 4))
SHARED_SUM_TILES = ((2, 512, 4), (8, 512, 4))
COLUMN_VALUE_TILE = (16, 128, 4)
COLUMN_SUM_TILE = (32, 128, 4)
FEW_TERMS = 8
LITTLE_WORK = 2**22
# Of the gradients of few terms: elements of a tile, warps, and how many programs there are in all.
FEW_TILE = (512, 4)
FEW_PROGRAMS = 132 * 16
# With a set per column, this many programs (at most) go down the rows of each network.
ROW_PROGRAMS = 512


def value(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """The series itself."""
    x = x.contiguous()
    parameters = _contiguous(amplitude, frequency, phase)
    out = torch.empty_like(x)
    light = amplitude.shape[2] <= FEW_TERMS or x.numel() < LITTLE_WORK
    tile = SHARED_VALUE_TILES[0 if light else 1] if amplitude.shape[1] == 1 else COLUMN_VALUE_TILE
    points, width, elements, options = _layout(x, amplitude, tile)
    slots = triton.cdiv(points, options["ROWS"])
    grid = (slots * x.shape[0], triton.cdiv(width, options["COLUMNS"]))
    with torch.cuda.device(x.device):
        value_kernel[grid](x, *parameters, out, points, width, elements, slots, **options)
    return out


def gradients(grad: Tensor, x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Four:
    """Gradients of `sum(grad * value)` in x, amplitude, frequency and phase."""
    grad, x = grad.contiguous(), x.contiguous()
    parameters = _contiguous(amplitude, frequency, phase)
    in_x = torch.empty_like(x)
    if amplitude.shape[1] == 1 and amplitude.shape[2] <= FEW_TERMS and x.numel() > 0:
        sums = _few_gradients(grad, x, parameters, in_x)
        return in_x, sums[0], sums[1], sums[2]
    sums = _summed(gradients_kernel, [grad, x, *parameters, in_x], x, parameters[0], scaled=True)
    return in_x, sums[0], sums[1], sums[2]


def second(
    grad: Tensor,
    x: Tensor,
    amplitude: Tensor,
    frequency: Tensor,
    phase: Tensor,
    x_tangent: Tensor,
    amplitude_tangent: Tensor,
    frequency_tangent: Tensor,
    phase_tangent: Tensor,
) -> Five:
    """Gradients of the pairing of `gradients` with the four tangents, in grad, x, amplitude, frequency and phase."""
    grad, x, x_tangent = grad.contiguous(), x.contiguous(), x_tangent.contiguous()
    parameters = _contiguous(amplitude, frequency, phase)
    tangents = _contiguous(amplitude_tangent, frequency_tangent, phase_tangent)
    in_grad, in_x = torch.empty_like(x), torch.empty_like(x)
    arguments = [grad, x, *parameters, x_tangent, *tangents, in_grad, in_x]
    sums = _summed(second_kernel, arguments, x, parameters[0], scaled=False)
    return in_grad, in_x, sums[0], sums[1], sums[2]


def _few_gradients(grad: Tensor, x: Tensor, parameters: list[Tensor], in_x: Tensor) -> Tensor:
    networks, _, terms = parameters[0].shape
    elements = x.numel() // networks
    columns, warps = FEW_TILE
    slots = max(1, min(triton.cdiv(FEW_PROGRAMS, networks), triton.cdiv(elements, columns)))
    tiles = triton.cdiv(triton.cdiv(elements, slots), columns)
    slots = triton.cdiv(elements, tiles * columns)
    partial = torch.empty(networks * 3 * terms * slots, device=x.device, dtype=torch.float32)
    with torch.cuda.device(x.device):
        few_gradients_kernel[(slots * networks,)](
            grad, x, *parameters, in_x, partial, elements, slots, tiles, TERMS=terms, COLUMNS=columns, num_warps=warps
        )
        return _finished(partial, parameters[0], slots, 1, scaled=True)


def _contiguous(*tensors: Tensor) -> list[Tensor]:
    return [tensor.contiguous() for tensor in tensors]


def _layout(x: Tensor, amplitude: Tensor, tile: tuple[int, int, int]) -> tuple[int, int, int, dict]:
    """Rows, columns and elements per network as the kernels see them, and their compile-time options."""
    _, points, width = x.shape
    _, columns, terms = amplitude.shape
    shared = columns == 1
    elements = points * width
    if shared:
        points, width = triton.cdiv(elements, tile[1]), tile[1]
    options = {"TERMS": terms, "SHARED": shared, "ROWS": tile[0], "COLUMNS": tile[1], "num_warps": tile[2]}
    return points, width, elements, {**options, "UNROLL": terms if terms <= FEW_TERMS else 2}


def _summed(kernel: triton.JITFunction, arguments: list[Tensor], x: Tensor, amplitude: Tensor, scaled: bool) -> Tensor:
    """Launch a kernel that leaves sums of tiles, then add them up: (3, networks, columns, terms)."""
    networks, columns, terms = amplitude.shape
    shared = columns == 1
    tile = SHARED_SUM_TILES[0 if x.numel() < LITTLE_WORK else 1] if shared else COLUMN_SUM_TILE
    points, width, elements, options = _layout(x, amplitude, tile)
    row_tiles = triton.cdiv(points, options["ROWS"])
    tiles = 1 if shared else triton.cdiv(row_tiles, ROW_PROGRAMS)
    slots = triton.cdiv(row_tiles, tiles)
    partial = torch.empty(networks * 3 * slots * terms * columns, device=x.device, dtype=torch.float32)
    grid = (slots * networks, triton.cdiv(width, options["COLUMNS"]))
    with torch.cuda.device(x.device):
        kernel[grid](*arguments, partial, points, width, elements, slots, tiles, **options)
        return _finished(partial, amplitude, slots, width, scaled)


def _finished(partial: Tensor, amplitude: Tensor, slots: int, width: int, scaled: bool) -> Tensor:
    """Add up the slots of every sum: (3, networks, columns, terms)."""
    networks, columns, terms = amplitude.shape
    out = torch.empty((3, networks, columns, terms), device=partial.device, dtype=torch.float32)
    finish_kernel[(columns * networks, 3 * terms)](
        partial, amplitude, out, slots, width, networks, TERMS=terms, SHARED=columns == 1, SCALED=scaled, BLOCK=1024
    )
    return out
