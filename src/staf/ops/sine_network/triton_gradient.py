"""Device code of the gradient of hidden sine layers: a product with the series' derivative and all sums in its epilogue.

Tiles, planes and padding are those of `triton_layer`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.sine_network.triton_layer import (
    by_thread,
    coordinate,
    encoded,
    inner_of_coordinates,
    pieces,
    product,
    scale_below,
)
from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns


@triton.jit
def slope_bound(amplitude_pointer, frequency_pointer, network, TERMS: tl.constexpr):
    """sum_i |C_i Omega_i|, which no slope of the series exceeds."""
    total = 0.0
    for k in tl.static_range(TERMS):
        amplitude = tl.load(amplitude_pointer + network * TERMS + k)
        total += tl.abs(amplitude * tl.load(frequency_pointer + network * TERMS + k))
    return total


@triton.jit
def gradient_kernel(
    g_high,
    g_low,
    b_high,
    b_low,
    inner,
    x_pointer,
    weight_pointer,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_high,
    out_low,
    partial_pointer,
    column_pointer,
    scale_pointer,
    below_pointer,
    points,
    height,
    width,
    networks,
    SPLIT: tl.constexpr,
    TERMS: tl.constexpr,
    TRAINED: tl.constexpr,
    INPUTS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    PIECES: tl.constexpr,
):
    """(g b^T) rho'(z) of the layer below: its planes, the sums of its columns, and the sinusoids' sums where TRAINED.

    With INPUTS, the layer below is the first one: z is computed from coordinates, its angles are reduced exactly, and
    instead of planes there are the sums of columns times each coordinate, for the first layer's weights, then plain
    ones, for its biases.

    Unless SPLIT, scale is (3, networks): the largest |g| and |b|, and the factor that g was stored with. The results'
    largest and factor go to the same places in below.
    """
    SPAN: tl.constexpr = COLUMNS // PIECES
    tiles = width // COLUMNS
    row = (tl.program_id(0) // tiles) * ROWS
    first = (tl.program_id(0) % tiles) * COLUMNS
    network = row // height
    total = product(g_high, g_low, b_high, b_low, row, network * width + first, width, SPLIT, ROWS, COLUMNS, DEPTH)
    if not SPLIT:
        largest = tl.load(scale_pointer + network) * tl.load(scale_pointer + networks + network) * width
        scale = scale_below(largest, slope_bound(amplitude_pointer, frequency_pointer, network, TERMS))
        total *= 1.0 / tl.load(scale_pointer + 2 * networks + network)
        if INPUTS == 0 and row % height + first == 0:
            tl.store(below_pointer + 2 * networks + network, scale)
    parts = pieces(total, ROWS, COLUMNS, PIECES)
    inside = (row % height + tl.arange(0, ROWS))[:, None]
    sums = ()
    for _ in tl.static_range(3 * TERMS):
        sums = sums + (tl.zeros((ROWS // 16, 8, 4), dtype=tl.float32),)  # noqa: RUF005
    reach = tl.zeros((ROWS, SPAN), dtype=tl.float32)
    for piece in tl.static_range(PIECES):
        start = first + piece * SPAN
        column = (start + tl.arange(0, SPAN))[None, :]
        grad = parts[piece]
        if INPUTS == 0:
            z = inner.load([row, start])
        else:
            z = inner_of_coordinates(
                x_pointer, weight_pointer, bias_pointer, network, inside, column, points, width, INPUTS
            )
        slope = tl.zeros((ROWS, SPAN), dtype=tl.float32)
        scaled = grad * z
        more = ()
        for k in tl.static_range(TERMS):
            frequency = tl.load(frequency_pointer + network * TERMS + k)
            phase = tl.load(phase_pointer + network * TERMS + k)
            if INPUTS == 0:
                angle = tl.fma(z, frequency, phase)
            else:
                turn_high, turn_low, turn_rest = turns(frequency, phase)
                angle = reduced_angle(z, turn_high, turn_low, turn_rest)
            cosine = hardware_cosine(angle)
            slope += (tl.load(amplitude_pointer + network * TERMS + k) * frequency) * cosine
            if TRAINED:
                more = more + (  # noqa: RUF005
                    sums[3 * k] + by_thread(grad * hardware_sine(angle), ROWS, SPAN),
                    sums[3 * k + 1] + by_thread(scaled * cosine, ROWS, SPAN),
                    sums[3 * k + 2] + by_thread(grad * cosine, ROWS, SPAN),
                )
        if TRAINED:
            sums = more
        in_z = grad * slope
        if INPUTS == 0:
            if SPLIT:
                high, low = encoded(in_z, SPLIT)
                out_low.store([row, start], low)
            else:
                high, low = encoded(in_z * scale, SPLIT)
                reach = tl.maximum(reach, tl.abs(in_z))
            out_high.store([row, start], high)
        to = column_pointer + (row // ROWS).to(tl.int64) * (INPUTS + 1) * width + start + tl.arange(0, SPAN)
        for k in tl.static_range(INPUTS):
            x = coordinate(x_pointer, network, inside, points, k, INPUTS)
            tl.store(to + k * width, tl.sum(in_z * x, axis=0))
        tl.store(to + INPUTS * width, tl.sum(in_z, axis=0))
    if not SPLIT and INPUTS == 0:
        tl.atomic_max(below_pointer + network, tl.max(reach))
    if TRAINED:
        # Slots of one network and sum lie together: (networks, 3, TERMS, slots).
        GROUPS: tl.constexpr = ROWS // 16
        slots = (height // ROWS) * tiles * GROUPS
        slot = (tl.program_id(0) % ((height // ROWS) * tiles)) * GROUPS + tl.arange(0, GROUPS)
        kept = partial_pointer + network.to(tl.int64) * 3 * TERMS * slots + slot
        for k in tl.static_range(TERMS):
            for which in tl.static_range(3):
                grouped = tl.sum(tl.sum(sums[3 * k + which], axis=2), axis=1)
                tl.store(kept + (which * TERMS + k) * slots, grouped)
