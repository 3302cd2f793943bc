"""Device code of the sine series with a set of sinusoids for each column, and of its second derivatives.

A tile is (rows, columns) of `x`. Where each column has its own parameter set, columns are the width and a program goes
down several tiles, adding to its own slot of partial sums; where one set serves all (SHARED, second derivatives alone),
x is cut into rows of COLUMNS elements whatever its shape, and a program's slot is one number per parameter.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns


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
def value_kernel(
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
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    start, offsets, exists, columns = _tile(slot, tl.program_id(1), points, width, elements, ROWS, COLUMNS)
    start += network * elements
    sets = network * TERMS * width
    x = tl.load(x_pointer + start + offsets, mask=exists, other=0.0)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in tl.range(0, TERMS, loop_unroll_factor=UNROLL):
        amplitude = _set(amplitude_pointer + sets, columns, width, k, TERMS, False)
        frequency = _set(frequency_pointer + sets, columns, width, k, TERMS, False)
        phase = _set(phase_pointer + sets, columns, width, k, TERMS, False)
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
def gradients_kernel(
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
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    sets = network * TERMS * width
    # Sums of one kind lie together: (networks, 3, kept).
    kept = tl.cast(TERMS, tl.int64) * slots * width
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
            amplitude = _set(amplitude_pointer + sets, columns, width, k, TERMS, False)
            frequency = _set(frequency_pointer + sets, columns, width, k, TERMS, False)
            phase = _set(phase_pointer + sets, columns, width, k, TERMS, False)
            high, low, rest = turns(frequency, phase)
            angle = reduced_angle(x, high, low, rest)
            cosine = hardware_cosine(angle)
            weighted = grad * cosine
            slope += amplitude * frequency * cosine
            _keep(first, grad * hardware_sine(angle), columns, width, k, TERMS, tile, slot, slots, False)
            _keep(first + kept, weighted * x, columns, width, k, TERMS, tile, slot, slots, False)
            _keep(first + 2 * kept, weighted, columns, width, k, TERMS, tile, slot, slots, False)
        tl.store(in_x_pointer + start + offsets, grad * slope, mask=exists)
        tl.debug_barrier()


@triton.jit
def second_kernel(
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
