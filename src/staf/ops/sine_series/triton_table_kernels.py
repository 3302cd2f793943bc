"""Device code of the table: one set of many terms is a function of one variable, and costs the same for any number.

The table is that of `table.py`: Hermite's cubics between the knots n h, with h a power of two, here for the HALF cells
on both sides of zero, since nothing can wait to see how far x reaches. Knot n lies at the place n modulo 2 HALF, which
are the last bits of n, and the first knot again at the end. Terms are summed only where x lies beyond the table.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.triton_math import ROUNDER, TURN, hardware_sine, reduced_angle, turns

# 1 / h is the power of two that is at least the fastest frequency over this; `table.ANGLE` says why.
ANGLE = tl.constexpr(0.118)


@triton.jit
def _cells_per_unit(fastest):
    """1 / h: a power of two between 2^-60 and 2^60."""
    bits = (fastest / ANGLE).to(tl.int32, bitcast=True)
    power = ((bits + 0x7FFFFF) & 0x7F800000).to(tl.float32, bitcast=True)
    return tl.minimum(tl.maximum(power, 8.673617379884035e-19), 1.152921504606847e18)


@triton.jit
def sine_and_cosine(frequency, phase, place):
    """Of frequency place + phase, for float64 places, to the last digit of float32."""
    turn = (frequency.to(tl.float64) * place + phase.to(tl.float64)) * (1.0 / TURN)
    angle = ((turn - tl.floor(turn + 0.5)) * TURN).to(tl.float32)
    return tl.sin(angle).to(tl.float64), tl.cos(angle).to(tl.float64)


@triton.jit
def table_kernel(
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    reach_pointer,
    table_pointer,
    unit_pointer,
    plan_pointer,
    blocks,
    TERMS: tl.constexpr,
    PADDED: tl.constexpr,
    SLOPE: tl.constexpr,
    HALF: tl.constexpr,
    MOST: tl.constexpr,
    COPIES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Value and h times slope at each knot, (networks, 2 HALF + 1, 2), of rho or, where SLOPE, of rho'; and 1 / h.

    Where SLOPE, also how to sum: plan (networks, 2) is 1 / X after the count of moments, an even number, or 0 for sums
    term by term. X is the largest of the reach (networks, COPIES).
    """
    network = (tl.program_id(0) // blocks).to(tl.int64)
    block = tl.program_id(0) % blocks
    k = tl.arange(0, PADDED)[None, :]
    own = network * TERMS + k
    frequency = tl.load(frequency_pointer + own, mask=k < TERMS, other=0.0)
    fastest = tl.max(tl.abs(frequency))
    per_unit = _cells_per_unit(fastest)
    index = (block * BLOCK + tl.arange(0, BLOCK))[:, None]
    knot = ((index + HALF) & (2 * HALF - 1)) - HALF
    width = 1.0 / per_unit.to(tl.float64)
    phase = tl.load(phase_pointer + own, mask=k < TERMS, other=0.0)
    sine, cosine = sine_and_cosine(frequency, phase, knot.to(tl.float64) * width)
    rate = frequency.to(tl.float64)
    size = tl.load(amplitude_pointer + own, mask=k < TERMS, other=0.0).to(tl.float64)
    if SLOPE:
        size *= rate
        value = tl.sum(size * cosine, axis=1)[:, None]
        slope = tl.sum(-size * rate * sine, axis=1)[:, None]
    else:
        value = tl.sum(size * sine, axis=1)[:, None]
        slope = tl.sum(size * rate * cosine, axis=1)[:, None]
    to = table_pointer + (network * (2 * HALF + 1) + index) * 2
    tl.store(to, value.to(tl.float32), mask=index <= 2 * HALF)
    tl.store(to + 1, (slope * width).to(tl.float32), mask=index <= 2 * HALF)
    if block == 0:
        tl.store(unit_pointer + network, per_unit)
        if SLOPE:
            reach = tl.load(reach_pointer + network * COPIES + tl.arange(0, COPIES))
            farthest = tl.max(reach) * 1.000001
            angle = fastest * farthest
            # Found by trying: what is left out is below 2e-8 of the sum of |grad| for angles of up to 240.
            degree = angle + 6.0 * tl.exp2(tl.log2(tl.maximum(angle, 0.01)) / 3.0) + 4.0
            count = 2.0 * tl.ceil(degree / 2.0)
            possible = (count <= MOST) & (farthest * per_unit < HALF - 1)
            tl.store(plan_pointer + 2 * network, tl.where(possible, count, 0.0))
            tl.store(plan_pointer + 2 * network + 1, 1.0 / tl.maximum(farthest, 1e-30))


@triton.jit
def _pair(numbers):
    """The two float32 that lie in an int64."""
    low = numbers.to(tl.int32).to(tl.float32, bitcast=True)
    high = (numbers >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    return low, high


@triton.jit
def looked_up(table_pointer, x, per_unit, HALF: tl.constexpr):
    """The function at x: no number where x is none; anything where x lies beyond the table, which alone is read."""
    shifted = tl.fma(x, per_unit, -0.5) + ROUNDER
    rest = tl.fma(x, per_unit, ROUNDER - shifted)
    knot = table_pointer + (shifted.to(tl.int32, bitcast=True) & (2 * HALF - 1))
    left, rise = _pair(tl.load(knot))
    right, fall = _pair(tl.load(knot + 1))
    up = right - left
    bend = up * 3.0 - (rise + rise + fall)
    twist = tl.fma(up, -2.0, rise + fall)
    return tl.fma(tl.fma(tl.fma(twist, rest, bend), rest, rise), rest, left)


@triton.jit
def table_value_kernel(
    x_pointer,
    table_pointer,
    unit_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_pointer,
    reach_pointer,
    elements,
    slots,
    TERMS: tl.constexpr,
    HALF: tl.constexpr,
    COPIES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The series by the table (networks, 2 HALF + 1) of pairs; beyond it, by its terms.

    The largest |x| goes to one of the COPIES in reach (networks, COPIES), which are zero before.
    """
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    inside = slot.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    exists = inside < elements
    x = tl.load(x_pointer + network * elements + inside, mask=exists, other=0.0)
    per_unit = tl.load(unit_pointer + network)
    value = looked_up(table_pointer + network * (2 * HALF + 1), x, per_unit, HALF)
    reach = tl.max(tl.abs(x))
    tl.atomic_max(reach_pointer + network * COPIES + slot % COPIES, reach, sem="relaxed")
    if reach * per_unit >= HALF - 1:
        sets = network * TERMS
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for k in range(TERMS):
            high, low, rest = turns(tl.load(frequency_pointer + sets + k), tl.load(phase_pointer + sets + k))
            total += tl.load(amplitude_pointer + sets + k) * hardware_sine(reduced_angle(x, high, low, rest))
        value = tl.where(tl.abs(x) * per_unit < HALF - 1, value, total)
    tl.store(out_pointer + network * elements + inside, value, mask=exists)
