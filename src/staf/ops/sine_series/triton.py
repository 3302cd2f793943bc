"""The sine series on CUDA in float32: forward, gradients and second derivatives, one pass over memory each.

Shapes and formulas are those of `loop`. Parameter sums are made in two stages, tiles first and then their results in
order: the same bits in every run, no atomics. `reduced` allows less exact sines if that saves time.
Nothing here waits for the device, so calls can be captured in a CUDA graph once each kernel has run.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from staf.ops import column_sums
from staf.ops.sine_series import triton_table
from staf.ops.sine_series.loop import Five, Four
from staf.ops.sine_series.triton_finish import finish_kernel, finish_shared_kernel
from staf.ops.sine_series.triton_kernels import gradients_kernel, second_kernel, value_kernel
from staf.ops.sine_series.triton_shared import few_gradients_kernel, many_gradients_kernel, shared_value_kernel
from staf.ops.triton_early import early

# With more than FEW_TERMS, angles up to these go to the hardware sine with their whole turns; it cuts the number of
# turns to 24 bits, so that the error is below 1e-6 up to one turn, and about 1e-5 up to sixteen.
EXACT_ANGLE = 6.28
REDUCED_ANGLE = 100.0
# Registers of a thread backward, so that 16 programs share a multiprocessor; what gives way are column
# sums, used once a tile.
MANY_REGISTERS = 128
# All of these are chosen by timing on an H200. With one set of sinusoids: numbers and warps of a program forward, for
# few terms and for many.
FEW_TERMS = 8
VALUE_BLOCKS = ((2048, 4), (4096, 4))
# Backward: numbers of a part, parts of a tile, warps, and how many programs share the work; for few terms, with little
# work and with much, and for many terms.
LITTLE_WORK = 2**22
FEW_TILES = ((128, 4, 1, 132 * 8), (128, 8, 4, 132 * 32))
MANY_TILE = (128, 6, 1, 132 * 96)
# Several networks with few terms have so many times as many programs.
SEVERAL = 2
# Narrower columns are not summed in passing: their sums would have too many rows.
LEAST_WIDTH = 64
# Rows, columns and warps of a tile with a set for each column, where this many programs (at most) go down the rows of
# each network, and of second derivatives with one set.
COLUMN_VALUE_TILE = (16, 128, 4)
COLUMN_SUM_TILE = (32, 128, 4)
ROW_PROGRAMS = 512
SECOND_TILE = (2, 512, 4)


def value(
    x: Tensor,
    amplitude: Tensor,
    frequency: Tensor,
    phase: Tensor,
    reduced: bool = False,
    bias: Tensor | None = None,
) -> Tensor:
    """The series itself; of x + bias (networks, width), for one set, where a bias is given."""
    x = x.contiguous()
    parameters = _contiguous(amplitude, frequency, phase)
    if bias is None and triton_table.applies(x, amplitude):
        return triton_table.value(x, *parameters)
    out = torch.empty_like(x)
    networks, columns, terms = amplitude.shape
    with torch.cuda.device(x.device):
        if columns == 1:
            block, warps = VALUE_BLOCKS[terms > FEW_TERMS]
            elements = x.numel() // networks
            slots = triton.cdiv(elements, block)
            options = {"TERMS": terms, "BLOCK": block, "UNROLL": _unroll(terms), "num_warps": warps}
            small = _small_angle(terms, reduced)
            biased = 0 if bias is None else x.shape[2]
            shared_value_kernel[(slots * networks,)](
                x, bias, *parameters, out, elements, slots, SMALL=small, BIASED=biased, **options
            )
        else:
            points, width, elements, options = _layout(x, amplitude, COLUMN_VALUE_TILE)
            slots = triton.cdiv(points, options["ROWS"])
            grid = (slots * networks, triton.cdiv(width, options["COLUMNS"]))
            value_kernel[grid](x, *parameters, out, points, width, elements, slots, **options)
    return out


def gradients(
    grad: Tensor,
    x: Tensor,
    amplitude: Tensor,
    frequency: Tensor,
    phase: Tensor,
    reduced: bool = False,
    bias: Tensor | None = None,
) -> Four:
    """Gradients of `sum(grad * value)` in x, amplitude, frequency and phase.

    With one set of sinusoids and rows that fill parts, the column sums of the first are left with it. A `bias` is for
    few terms and such rows.
    """
    grad, x = grad.contiguous(), x.contiguous()
    parameters = _contiguous(amplitude, frequency, phase)
    if bias is None and triton_table.applies(x, amplitude):
        period = _period(x.shape[2], *triton_table.TILE[:2])
        small = _small_angle(amplitude.shape[2], reduced)
        in_x, sums = triton_table.gradients(grad, x, *parameters, small_angle=small, period=period)
        return in_x, sums[0], sums[1], sums[2]
    in_x = torch.empty_like(x)
    if amplitude.shape[1] == 1 and x.numel() > 0:
        sums = _shared_gradients(grad, x, bias, parameters, in_x, reduced)
    else:
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


def _shared_gradients(
    grad: Tensor, x: Tensor, bias: Tensor | None, parameters: list[Tensor], in_x: Tensor, reduced: bool
) -> Tensor:
    """Write in_x, leave its column sums with it, and return the three parameters' sums: (3, networks, 1, terms)."""
    networks, _, terms = parameters[0].shape
    few = terms <= FEW_TERMS
    kernel = few_gradients_kernel if few else many_gradients_kernel
    block, parts, warps, programs = FEW_TILES[x.numel() >= LITTLE_WORK] if few else MANY_TILE
    width = x.shape[2]
    elements = x.numel() // networks
    tile = block * parts
    if few and networks > 1:
        programs *= SEVERAL
    slots = max(1, min(triton.cdiv(programs, networks), triton.cdiv(elements, tile)))
    tiles = triton.cdiv(triton.cdiv(elements, slots), tile)
    slots = triton.cdiv(elements, tiles * tile)
    period = _period(width, block, parts)
    partial = torch.empty(networks * 3 * terms * slots, device=x.device, dtype=torch.float32)
    columns = torch.empty(networks * slots * period * block, device=x.device, dtype=torch.float32)
    options: dict[str, float] = {
        "TERMS": terms,
        "BLOCK": block,
        "PARTS": parts,
        "PERIOD": period,
        "num_warps": warps,
    }
    arguments: list[Any] = [grad, x, *parameters, in_x, partial, columns, elements, slots, tiles]
    if few:
        arguments.insert(2, bias)
        options["BIASED"] = 0 if bias is None else width
    else:
        arguments.insert(2, None)
        options |= {"SUMS": 3 * terms, "SMALL": _small_angle(terms, reduced), "maxnreg": MANY_REGISTERS}
    with torch.cuda.device(x.device):
        kernel[(slots * networks,)](*arguments, **options)
        sums, column_out = finished_shared(partial, parameters[0], slots, columns, width if period else 0, scaled=True)
    if period:
        column_sums.leave(in_x, column_out)
    return sums


def _period(width: int, block: int, parts: int) -> int:
    """How many parts a row takes, where tiles hold whole rows or parts do; 0 otherwise."""
    period = max(1, width // block)
    aligned = width % block == 0 if width > block else block % width == 0
    return period if width >= LEAST_WIDTH and aligned and parts % period == 0 else 0


def finished_shared(
    partial: Tensor, amplitude: Tensor, slots: int, columns: Tensor, width: int, scaled: bool, little: bool = False
) -> tuple[Tensor, Tensor]:
    """Add up the slots: the parameters' sums (3, networks, 1, terms) and those of columns (networks, width)."""
    networks, _, terms = amplitude.shape
    out = torch.empty((3, networks, 1, terms), device=partial.device, dtype=torch.float32)
    column_out = torch.empty((networks, width), device=partial.device, dtype=torch.float32)
    rows = columns.numel() // (networks * max(1, width))
    programs = 3 * terms + triton.cdiv(width, 8)
    finish_shared_kernel[(programs * networks,)](
        partial,
        amplitude,
        columns,
        out,
        column_out,
        slots,
        rows,
        width,
        networks,
        programs,
        TERMS=terms,
        SCALED=scaled,
        BLOCK=4096,
        COLUMNS=8,
        num_warps=8,
        **early(partial.device, little),
    )
    return out, column_out


def _contiguous(*tensors: Tensor) -> list[Tensor]:
    return [tensor.contiguous() for tensor in tensors]


def _small_angle(terms: int, reduced: bool) -> float:
    """Up to which angle turns need not be taken off; 0 with few terms, where memory is what takes the time."""
    if terms <= FEW_TERMS:
        return 0.0
    return REDUCED_ANGLE if reduced else EXACT_ANGLE


def _unroll(terms: int) -> int:
    return terms if terms <= FEW_TERMS else 2


def _layout(x: Tensor, amplitude: Tensor, tile: tuple[int, int, int]) -> tuple[int, int, int, dict]:
    """Rows, columns and elements per network as the kernels see them, and their compile-time options."""
    _, points, width = x.shape
    _, columns, terms = amplitude.shape
    elements = points * width
    if columns == 1:
        points, width = triton.cdiv(elements, tile[1]), tile[1]
    options = {"TERMS": terms, "ROWS": tile[0], "COLUMNS": tile[1], "UNROLL": _unroll(terms), "num_warps": tile[2]}
    return points, width, elements, options


def _summed(kernel: triton.JITFunction, arguments: list[Tensor], x: Tensor, amplitude: Tensor, scaled: bool) -> Tensor:
    """Launch a kernel that leaves sums of tiles, then add them up: (3, networks, columns, terms)."""
    networks, columns, terms = amplitude.shape
    shared = columns == 1
    tile = SECOND_TILE if shared else COLUMN_SUM_TILE
    points, width, elements, options = _layout(x, amplitude, tile)
    if kernel is second_kernel:
        options["SHARED"] = shared
    row_tiles = triton.cdiv(points, options["ROWS"])
    tiles = 1 if shared else triton.cdiv(row_tiles, ROW_PROGRAMS)
    slots = triton.cdiv(row_tiles, tiles)
    partial = torch.empty(networks * 3 * slots * terms * columns, device=x.device, dtype=torch.float32)
    grid = (slots * networks, triton.cdiv(width, options["COLUMNS"]))
    with torch.cuda.device(x.device):
        kernel[grid](*arguments, partial, points, width, elements, slots, tiles, **options)
        if shared:
            return finished_shared(partial, amplitude, slots, partial, 0, scaled)[0]
        out = torch.empty((3, networks, columns, terms), device=x.device, dtype=torch.float32)
        finish_kernel[(columns * networks, 3 * terms)](
            partial, amplitude, out, slots, width, networks, TERMS=terms, SCALED=scaled, BLOCK=1024
        )
    return out
