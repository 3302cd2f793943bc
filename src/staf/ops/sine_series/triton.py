"""The sine series on CUDA in float32: forward, gradients and second derivatives, one pass over memory each.

A tile is (rows, columns) of `x`. Where each column has its own parameter set, columns are the width; where one set
serves all, x is cut into rows of COLUMNS elements whatever its shape. Parameter sums are made in two stages, tiles
first and then their results in order: the same bits in every run, no atomics. Shapes and formulas are those of `loop`.
Nothing here waits for the device, so calls can be captured in a CUDA graph once each kernel has run.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops.sine_series.loop import Five, Four
from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns

# A tile's rows, columns and warps: (few terms or little work, otherwise), chosen by timing on an H200.
SHARED_VALUE_TILES = ((1, 1024, 4), (4, 512, 4))
SHARED_SUM_TILES = ((2, 512, 4), (8, 512, 4))
COLUMN_VALUE_TILE = (16, 128, 4)
COLUMN_SUM_TILE = (32, 128, 4)
FEW_TERMS = 8
LITTLE_WORK = 2**22
# With a set per column, this many programs (at most) go down the rows of each network.
ROW_PROGRAMS = 512


@triton.jit
def _tile(group, column, points, width, elements, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Where the tile starts, the offsets of its elements from there, which of them exist, and its columns."""
    rows = tl.arange(0, ROWS)[:, None]
    columns = column * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    start = group.to(tl.int64) * ROWS * width
    offsets = rows * width + columns
    left = tl.minimum(elements - start, 2147483647).to(tl.int32)
    exists = (group * ROWS + rows < points) & (columns < width) & (offsets < left)
    return start, offsets, exists, columns


@triton.jit
def _set(pointer, columns, width, k, terms, SHARED: tl.constexpr):
    """The k-th parameter: one number, or one for each column."""
    if SHARED:
        parameter = tl.load(pointer + k)
    else:
        parameter = tl.load(pointer + columns * terms + k, mask=columns < width, other=0.0)
    return parameter


@triton.jit
def _value_kernel(
    x_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_pointer,
    points,
    width,
    elements,
    slots,
    TERMS: tl.constexpr,
    SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    start, offsets, exists, columns = _tile(slot, tl.program_id(1), points, width, elements, ROWS, COLUMNS)
    start += network * elements
    sets = network * TERMS * (1 if SHARED else width)
    x = tl.load(x_pointer + start + offsets, mask=exists, other=0.0)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in tl.range(0, TERMS, loop_unroll_factor=UNROLL):
        amplitude = _set(amplitude_pointer + sets, columns, width, k, TERMS, SHARED)
        frequency = _set(frequency_pointer + sets, columns, width, k, TERMS, SHARED)
        phase = _set(phase_pointer + sets, columns, width, k, TERMS, SHARED)
        high, low, rest = turns(frequency, phase)
        total += amplitude * hardware_sine(reduced_angle(x, high, low, rest))
    tl.store(out_pointer + start + offsets, total, mask=exists)


@triton.jit
def _keep(pointer, total, columns, width, k, terms, tile, slot, slots, SHARED: tl.constexpr):
    """Put a tile's sum into this program's slot: shared sets have one number, columns add up over tiles."""
    if SHARED:
        tl.store(pointer + k * slots + slot, tl.sum(total))
    else:
        place = pointer + (slot * terms + k) * width + columns
        before = tl.load(place, mask=(columns < width) & (tile > 0), other=0.0)
        tl.store(place, before + tl.sum(total, axis=0)[None, :], mask=columns < width)


@triton.jit
def _gradients_kernel(
    grad_pointer,
    x_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    in_x_pointer,
    partial_pointer,
    points,
    width,
    elements,
    slots,
    tiles,
    TERMS: tl.constexpr,
    SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    sets = network * TERMS * (1 if SHARED else width)
    # Sums of one kind lie together: (networks, 3, kept).
    kept = tl.cast(TERMS, tl.int64) * slots * (1 if SHARED else width)
    first = partial_pointer + network * 3 * kept
    for tile in range(tiles):
        start, offsets, exists, columns = _tile(
            slot * tiles + tile, tl.program_id(1), points, width, elements, ROWS, COLUMNS
        )
        start += network * elements
        x = tl.load(x_pointer + start + offsets, mask=exists, other=0.0)
        grad = tl.load(grad_pointer + start + offsets, mask=exists, other=0.0)
        slope = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for k in tl.range(0, TERMS, loop_unroll_factor=UNROLL):
            amplitude = _set(amplitude_pointer + sets, columns, width, k, TERMS, SHARED)
            frequency = _set(frequency_pointer + sets, columns, width, k, TERMS, SHARED)
            phase = _set(phase_pointer + sets, columns, width, k, TERMS, SHARED)
            high, low, rest = turns(frequency, phase)
            angle = reduced_angle(x, high, low, rest)
            cosine = hardware_cosine(angle)
            weighted = grad * cosine
            slope += amplitude * frequency * cosine
            _keep(first, grad * hardware_sine(angle), columns, width, k, TERMS, tile, slot, slots, SHARED)
            _keep(first + kept, weighted * x, columns, width, k, TERMS, tile, slot, slots, SHARED)
            _keep(first + 2 * kept, weighted, columns, width, k, TERMS, tile, slot, slots, SHARED)
        tl.store(in_x_pointer + start + offsets, grad * slope, mask=exists)
        tl.debug_barrier()


@triton.jit
def _second_kernel(
    grad_pointer,
    x_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    x_tangent_pointer,
    amplitude_tangent_pointer,
    frequency_tangent_pointer,
    phase_tangent_pointer,
    in_grad_pointer,
    in_x_pointer,
    partial_pointer,
    points,
    width,
    elements,
    slots,
    tiles,
    TERMS: tl.constexpr,
    SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    sets = network * TERMS * (1 if SHARED else width)
    # Sums of one kind lie together: (networks, 3, kept).
    kept = tl.cast(TERMS, tl.int64) * slots * (1 if SHARED else width)
    first = partial_pointer + network * 3 * kept
    for tile in range(tiles):
        start, offsets, exists, columns = _tile(
            slot * tiles + tile, tl.program_id(1), points, width, elements, ROWS, COLUMNS
        )
        start += network * elements
        x = tl.load(x_pointer + start + offsets, mask=exists, other=0.0)
        grad = tl.load(grad_pointer + start + offsets, mask=exists, other=0.0)
        v = tl.load(x_tangent_pointer + start + offsets, mask=exists, other=0.0)
        in_grad = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        in_x = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for k in tl.range(0, TERMS, loop_unroll_factor=UNROLL):
            amplitude = _set(amplitude_pointer + sets, columns, width, k, TERMS, SHARED)
            frequency = _set(frequency_pointer + sets, columns, width, k, TERMS, SHARED)
            phase = _set(phase_pointer + sets, columns, width, k, TERMS, SHARED)
            amplitude_dot = _set(amplitude_tangent_pointer + sets, columns, width, k, TERMS, SHARED)
            frequency_dot = _set(frequency_tangent_pointer + sets, columns, width, k, TERMS, SHARED)
            phase_dot = _set(phase_tangent_pointer + sets, columns, width, k, TERMS, SHARED)
            high, low, rest = turns(frequency, phase)
            angle = reduced_angle(x, high, low, rest)
            sine = hardware_sine(angle)
            cosine = hardware_cosine(angle)
            q = frequency * v + frequency_dot * x + phase_dot
            along = amplitude_dot * cosine - amplitude * q * sine
            in_grad += amplitude_dot * sine + amplitude * q * cosine
            in_x += along * frequency + amplitude * frequency_dot * cosine
            _keep(first, grad * q * cosine, columns, width, k, TERMS, tile, slot, slots, SHARED)
            bent = grad * (along * x + amplitude * v * cosine)
            _keep(first + kept, bent, columns, width, k, TERMS, tile, slot, slots, SHARED)
            _keep(first + 2 * kept, grad * along, columns, width, k, TERMS, tile, slot, slots, SHARED)
        tl.store(in_grad_pointer + start + offsets, in_grad, mask=exists)
        tl.store(in_x_pointer + start + offsets, grad * in_x, mask=exists)
        tl.debug_barrier()


@triton.jit
def _finish_kernel(
    partial_pointer,
    amplitude_pointer,
    out_pointer,
    slots,
    width,
    networks,
    TERMS: tl.constexpr,
    SHARED: tl.constexpr,
    SCALED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add the slots of one parameter in order; out is (3, networks, columns, terms)."""
    columns = 1 if SHARED else width
    column = tl.program_id(0) % columns
    network = (tl.program_id(0) // columns).to(tl.int64)
    which = (tl.program_id(1) // TERMS).to(tl.int64)
    k = tl.program_id(1) % TERMS
    kept = (network * 3 + which) * slots * TERMS * columns
    slot = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(0, slots, BLOCK):
        exists = start + slot < slots
        if SHARED:
            place = partial_pointer + kept + k * slots + start + slot
        else:
            place = partial_pointer + kept + ((start + slot) * TERMS + k) * width + column
        total += tl.load(place, mask=exists, other=0.0).to(tl.float64)
    result = tl.sum(total)
    to = (network * columns + column) * TERMS + k
    if SCALED:
        result *= tl.where(which > 0, tl.load(amplitude_pointer + to), 1.0).to(tl.float64)
    tl.store(out_pointer + which * networks * columns * TERMS + to, result.to(tl.float32))


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
        _value_kernel[grid](x, *parameters, out, points, width, elements, slots, **options)
    return out


def gradients(grad: Tensor, x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Four:
    """Gradients of `sum(grad * value)` in x, amplitude, frequency and phase."""
    grad, x = grad.contiguous(), x.contiguous()
    parameters = _contiguous(amplitude, frequency, phase)
    in_x = torch.empty_like(x)
    sums = _summed(_gradients_kernel, [grad, x, *parameters, in_x], x, parameters[0], scaled=True)
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
    sums = _summed(_second_kernel, arguments, x, parameters[0], scaled=False)
    return in_grad, in_x, sums[0], sums[1], sums[2]


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
    out = torch.empty((3, networks, columns, terms), device=x.device, dtype=torch.float32)
    grid = (slots * networks, triton.cdiv(width, options["COLUMNS"]))
    with torch.cuda.device(x.device):
        kernel[grid](*arguments, partial, points, width, elements, slots, tiles, **options)
        _finish_kernel[(columns * networks, 3 * terms)](
            partial, amplitude, out, slots, width, networks, TERMS=terms, SHARED=shared, SCALED=scaled, BLOCK=1024
        )
    return out
