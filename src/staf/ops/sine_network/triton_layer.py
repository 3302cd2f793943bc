"""Device code of hidden sine layers: a product of 16-bit operands and the sine series of what comes out of it.

SPLIT: a number is two bfloat16 planes, high and low, four bytes together, and a product is three dots, high high +
low high + high low, summed in float32. Otherwise a number is one float16, gradients times a power of two (`scale`).

Tiles are ROWS x COLUMNS. Rows of several networks lie one after the other, each network padded to `height`, a multiple
of ROWS, so that a tile is full and of one network; the width is a multiple of COLUMNS and DEPTH. Gradients of padded
rows are zero.

A program takes one tile after the other, always of the same columns. A tile's product goes through memory, where it
stays in the cache, and is read again SLICE rows at a time: sines of a whole tile in registers would be thousands of
instructions in a row, which have to be fetched anew for every tile and take twice as long. While one program of a
multiprocessor computes sines, another one multiplies; they start STAGGER nanoseconds apart, since two that start
together would multiply together and then wait for the same unit's sines together.

Angles are not reduced before the hardware sine here: its relative error in the angle, 1.4e-7, is a thirtieth of what
the product of split operands leaves in the number that the angle is made of.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.triton_math import hardware_sine


@triton.jit
def encoded(value, SPLIT: tl.constexpr):
    """The planes of a tile: the nearest bfloat16, by integer arithmetic (conversions share the sines' unit), and the
    rest; or a float16, twice.
    """
    if SPLIT:
        bits = value.to(tl.int32, bitcast=True)
        nearest = ((bits + 0x8000) & -0x10000).to(tl.float32, bitcast=True)
        high = nearest.to(tl.bfloat16)
        low = (value - nearest).to(tl.bfloat16)
    else:
        high = value.to(tl.float16)
        low = high
    return high, low


@triton.jit
def stagger(NANOSECONDS: tl.constexpr):
    """Let the later half of the programs, which share multiprocessors with the earlier half, wait."""
    if NANOSECONDS > 0:  # noqa: SIM102
        if tl.program_id(0) >= tl.num_programs(0) // 2:
            tl.inline_asm_elementwise(
                "nanosleep.u32 $1; mov.u32 $0, $1;", "=r,r", [NANOSECONDS], dtype=tl.int32, is_pure=False, pack=1
            )


@triton.jit
def product(
    a_high,
    a_low,
    b_high,
    b_low,
    row,
    column,
    width,
    SPLIT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """sum_k a[row + m, k] b[column + n, k]."""
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in range(0, width, DEPTH):
        a = a_high.load([row, k])
        b = b_high.load([column, k])
        total = tl.dot(a, b.T, total)
        if SPLIT:
            a_rest = a_low.load([row, k])
            b_rest = b_low.load([column, k])
            total = tl.dot(a_rest, b.T, total)
            total = tl.dot(a, b_rest.T, total)
    return total


@triton.jit
def layer_kernel(
    a_high,
    a_low,
    b_high,
    b_low,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    output_pointer,
    inner_pointer,
    out_high_pointer,
    out_low_pointer,
    share_pointer,
    rows,
    height,
    width,
    slots,
    SPLIT: tl.constexpr,
    TERMS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    KEEP: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    SLICE: tl.constexpr,
    STAGGER: tl.constexpr,
):
    """z = a b^T + bias, which is kept where KEEP; then planes of rho(z), or, where there are OUTPUTS, their products
    with the output layer's weights, a share for each tile of columns: (tiles of columns, OUTPUTS, rows).

    Where z is not kept, each program has a place for one tile of it.
    """
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    across = width // COLUMNS
    first = (slot % across) * COLUMNS
    column = first + tl.arange(0, COLUMNS)[None, :]
    tall = tl.arange(0, ROWS)[:, None]
    few = tl.arange(0, SLICE)[:, None]
    constants = ()
    for k in tl.static_range(TERMS):
        constants = constants + (  # noqa: RUF005
            tl.load(amplitude_pointer + network * TERMS + k),
            tl.load(frequency_pointer + network * TERMS + k),
            tl.load(phase_pointer + network * TERMS + k),
        )
    weights = ()
    for c in tl.static_range(OUTPUTS):
        weights = weights + (tl.load(output_pointer + (network * OUTPUTS + c) * width + column),)  # noqa: RUF005
    stagger(STAGGER)
    for tile in range(slot // across, height // ROWS, slots // across):
        row = network * height + tile * ROWS
        total = product(a_high, a_low, b_high, b_low, row, network * width + first, width, SPLIT, ROWS, COLUMNS, DEPTH)
        total += tl.load(bias_pointer + network * width + column)
        if KEEP:
            source = inner_pointer + row.to(tl.int64) * width + first
            stride = width
        else:
            source = inner_pointer + tl.program_id(0) * (ROWS * COLUMNS)
            stride = COLUMNS
        tl.store(source + tall * stride + tl.arange(0, COLUMNS)[None, :], total)
        tl.debug_barrier()
        later = tl.load(source + few * stride + tl.arange(0, COLUMNS)[None, :])
        for start in range(0, ROWS, SLICE):
            z = later
            # What comes next is asked for before the arithmetic that hides the wait.
            following = tl.minimum(start + SLICE, ROWS - SLICE) + few
            later = tl.load(source + following * stride + tl.arange(0, COLUMNS)[None, :])
            value = tl.zeros((SLICE, COLUMNS), dtype=tl.float32)
            for k in tl.static_range(TERMS):
                value += constants[3 * k] * hardware_sine(tl.fma(z, constants[3 * k + 1], constants[3 * k + 2]))
            if OUTPUTS == 0:
                high, low = encoded(value, SPLIT)
                to = (row + start + few).to(tl.int64) * width + column
                tl.store(out_high_pointer + to, high)
                if SPLIT:
                    tl.store(out_low_pointer + to, low)
            for c in tl.static_range(OUTPUTS):
                to = ((slot % across) * OUTPUTS + c).to(tl.int64) * rows + row + start + tl.arange(0, SLICE)
                tl.store(share_pointer + to, tl.sum(value * weights[c], axis=1))
        if not KEEP:
            tl.debug_barrier()


@triton.jit
def coordinate(x_pointer, network, inside, points, k, INPUTS: tl.constexpr):
    """Coordinate k of some rows of a network; zero for padded rows."""
    place = (network.to(tl.int64) * points + inside) * INPUTS + k
    return tl.load(x_pointer + place, mask=inside < points, other=0.0)
