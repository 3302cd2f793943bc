"""Device code of the gradient of hidden sine layers: a product, then the series' derivative and all sums over points.

Tiles, planes and padding are those of `triton_layer`. A program takes one tile after the other, always of the same
columns, so that sums stay in registers. A tile's product goes through memory, where it stays in the cache, and is read
again SLICE rows at a time: derivatives of a whole tile in registers would be thousands of instructions in a row, which
do not fit the instruction cache.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.pointwise_triton import derivative
from staf.ops.sine_network.triton_layer import coordinate, encoded, product
from staf.ops.triton_early import let_next, wait_before
from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns


@triton.jit
def scale_below(largest, steepest):
    """The power of two that brings numbers of up to `largest` times `steepest` below 2^15, float16's largest half."""
    bound = tl.maximum(largest * steepest, 1e-30)
    return tl.exp2(14.0 - tl.ceil(tl.log2(bound)))


@triton.jit
def reaches_of(pointer, network, count, MOST: tl.constexpr):
    """A network's numbers in (networks, count), which are not negative, and zeros up to MOST."""
    lane = tl.arange(0, MOST)
    return tl.load(pointer + network * count + lane, mask=lane < count, other=0.0)


@triton.jit
def largest_of_layout(pointer, network, count, lane):
    """The largest of a network's numbers in (networks, count), which are not negative."""
    return tl.max(tl.load(pointer + network * count + lane, mask=lane < count, other=0.0))


@triton.jit
def terms(layer, network, EXACT: tl.constexpr, TERMS: tl.constexpr):
    """Five constants of each term of a layer, a `tiles.Layer`: amplitude, steepest slope, two or three of its angle."""
    _weight, _bias, amplitude_pointer, frequency_pointer, phase_pointer = layer
    constants = ()
    for k in tl.static_range(TERMS):
        amplitude = tl.load(amplitude_pointer + network * TERMS + k)
        frequency = tl.load(frequency_pointer + network * TERMS + k)
        phase = tl.load(phase_pointer + network * TERMS + k)
        if EXACT:
            high, low, rest = turns(frequency, phase)
            constants = constants + (amplitude, amplitude * frequency, high, low, rest)  # noqa: RUF005
        else:
            constants = constants + (amplitude, amplitude * frequency, frequency, phase, phase)  # noqa: RUF005
    return constants


@triton.jit
def steepest(constants, TERMS: tl.constexpr):
    """sum_i |C_i Omega_i|, which no slope of the series exceeds."""
    total = 0.0
    for k in tl.static_range(TERMS):
        total += tl.abs(constants[5 * k + 1])
    return total


@triton.jit
def across_thread(tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The sums of four neighbours, which one thread has read: (ROWS, COLUMNS / 4)."""
    return tl.sum(tl.reshape(tile, (ROWS, COLUMNS // 4, 4)), axis=2)


@triton.jit
def reached(reach, tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The largest |number| so far, of four neighbours: (ROWS, COLUMNS / 4)."""
    return tl.maximum(reach, tl.max(tl.reshape(tl.abs(tile), (ROWS, COLUMNS // 4, 4)), axis=2))


@triton.jit
def differentiated(
    grad,
    z,
    nothing,
    constants,
    sums,
    EXACT: tl.constexpr,
    VALUED: tl.constexpr,
    TERMS: tl.constexpr,
    TRAINED: tl.constexpr,
    KIND: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """grad rho'(z), rho(z) where VALUED, and the sinusoids' sums with this tile's where TRAINED; `nothing` is zeros."""
    scaled = grad * z
    slope = nothing
    value = nothing
    more = sums
    if KIND > 0:
        slope = derivative(z, constants[1], constants[2], constants[3], KIND, 1)
        if VALUED:
            value = derivative(z, constants[1], constants[2], constants[3], KIND, 0)
    else:
        more = ()
        for k in tl.static_range(TERMS):
            if EXACT:
                angle = reduced_angle(z, constants[5 * k + 2], constants[5 * k + 3], constants[5 * k + 4])
            else:
                angle = tl.fma(z, constants[5 * k + 2], constants[5 * k + 3])
            cosine = hardware_cosine(angle)
            slope += constants[5 * k + 1] * cosine
            if VALUED or TRAINED:
                sine = hardware_sine(angle)
            if VALUED:
                value += constants[5 * k] * sine
            if TRAINED:
                more = more + (  # noqa: RUF005
                    sums[3 * k] + across_thread(grad * sine, ROWS, COLUMNS),
                    sums[3 * k + 1] + across_thread(scaled * cosine, ROWS, COLUMNS),
                    sums[3 * k + 2] + across_thread(grad * cosine, ROWS, COLUMNS),
                )
            else:
                more = more + (sums[3 * k], sums[3 * k + 1], sums[3 * k + 2])  # noqa: RUF005
    return grad * slope, value, more


@triton.jit
def keep_sums(sums, unit, partial_pointer, network, slot, slots, TERMS: tl.constexpr, THREADS: tl.constexpr):
    """A slot's sums times unit, one for each warp; those of one network and sum lie together: (networks, 3, TERMS,
    slots, THREADS / 32). Adding warps up here would be more code than all the rest, which a GPU first has to read.
    """
    WARPS: tl.constexpr = THREADS // 32
    kept = partial_pointer + network.to(tl.int64) * 3 * TERMS * slots * WARPS + slot * WARPS
    lane = tl.arange(0, 32)[None, :]
    # Each warp's first thread stores its sum, so that no warp waits for another: places of other threads, which are
    # neighbours, are not written.
    place = tl.arange(0, WARPS)[:, None] + lane
    for k in tl.static_range(TERMS):
        for which in tl.static_range(3):
            warps = tl.sum(tl.reshape(sums[3 * k + which], (WARPS, 32)), axis=1)[:, None] + 0.0 * lane
            tl.store(kept + (which * TERMS + k) * slots * WARPS + place, warps * unit, mask=lane == 0)


@triton.jit
def gradient_kernel(
    g_high,
    g_low,
    b_high,
    b_low,
    inner_pointer,
    x_pointer,
    below,
    out,
    place_pointer,
    partial_pointer,
    column_pointer,
    weight_reach_pointer,
    reach_pointer,
    factor_pointer,
    below_reach_pointer,
    below_factor_pointer,
    points,
    height,
    width,
    weight_reaches,
    reaches,
    slots,
    SPLIT: tl.constexpr,
    TERMS: tl.constexpr,
    TRAINED: tl.constexpr,
    INPUTS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    SLICE: tl.constexpr,
    KIND: tl.constexpr,
    MOST_WEIGHT_REACHES: tl.constexpr,
    MOST_REACHES: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """(g b^T) rho'(z) of the layer `below`, a `tiles.Layer`: its planes, the sums of its columns, and the sinusoids'
    sums where TRAINED.

    With INPUTS, the layer below is the first one: z is computed from coordinates, its angles are reduced exactly, and
    instead of planes there are the sums of columns times each coordinate, as the first layer's weights lie, (width,
    INPUTS), then plain ones, for its biases.

    Unless SPLIT, the largest |b| is that of weight_reach (networks, weight_reaches), the largest |g| that of reach
    (networks, reaches), and g was stored times factor (networks,). Those of the results go to the same places in below,
    one reach for each program.
    """
    wait_before(EARLY)
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    across = width // COLUMNS
    first = (slot % across) * COLUMNS
    lane = tl.arange(0, COLUMNS)[None, :]
    tall = tl.arange(0, ROWS)[:, None]
    few = tl.arange(0, SLICE)[:, None]
    place = place_pointer + tl.program_id(0) * (ROWS * COLUMNS)
    constants = terms(below, network, INPUTS > 0 or KIND > 0, TERMS)
    weight_pointer, bias_pointer = below[0], below[1]
    out_high_pointer, out_low_pointer = out
    nothing = tl.zeros((SLICE, COLUMNS), dtype=tl.float32)
    sums = ()
    for _ in tl.static_range(3 * TERMS):
        sums = sums + (tl.zeros((SLICE, COLUMNS // 4), dtype=tl.float32),)  # noqa: RUF005
    columns = (nothing,)
    weights = ()
    for k in tl.static_range(INPUTS):
        columns = columns + (nothing,)  # noqa: RUF005
        at = (network * width + first + lane) * INPUTS + k
        weights = weights + (tl.load(weight_pointer + at) + nothing,)  # noqa: RUF005
    # Everything here is linear in g, so that its factor is taken off the sums, not off each number.
    unit = 1.0
    factor = 1.0
    if not SPLIT:
        unit = 1.0 / tl.load(factor_pointer + network)
        if INPUTS == 0:
            # Asked for here and looked at after the first product, which they come beside.
            heavy = reaches_of(weight_reach_pointer, network, weight_reaches, MOST_WEIGHT_REACHES)
            large = reaches_of(reach_pointer, network, reaches, MOST_REACHES)
    reach = tl.zeros((SLICE, COLUMNS // 4), dtype=tl.float32)
    for tile in range(slot // across, height // ROWS, slots // across):
        row = network * height + tile * ROWS
        source = inner_pointer + row.to(tl.int64) * width + first
        if INPUTS == 0:
            later_z = tl.load(source + few * width + lane)
        total = product(g_high, g_low, b_high, b_low, row, network * width + first, width, SPLIT, ROWS, COLUMNS, DEPTH)
        tl.store(place + tall * COLUMNS + lane, total)
        if not SPLIT and INPUTS == 0:  # noqa: SIM102
            if tile == slot // across:
                largest = tl.max(large) * tl.max(heavy) * width
                factor = scale_below(largest, steepest(constants, TERMS))
                if slot == 0:
                    tl.store(below_factor_pointer + network, factor)
                factor *= unit
        tl.debug_barrier()
        later = tl.load(place + few * COLUMNS + lane)
        for start in range(0, ROWS, SLICE):
            grad = later
            following = tl.minimum(start + SLICE, ROWS - SLICE) + few
            later = tl.load(place + following * COLUMNS + lane)
            inside = tile * ROWS + start + few
            if INPUTS == 0:
                z = later_z.to(tl.float32)
                later_z = tl.load(source + following * width + lane)
            else:
                z = tl.load(bias_pointer + network * width + first + lane) + nothing
                for k in tl.static_range(INPUTS):
                    z = tl.fma(coordinate(x_pointer, network, inside, points, k, INPUTS) + nothing, weights[k], z)
            in_z, _value, sums = differentiated(
                grad, z, nothing, constants, sums, INPUTS > 0, False, TERMS, TRAINED, KIND, SLICE, COLUMNS
            )
            if INPUTS == 0:
                to = (row + start + few).to(tl.int64) * width + first + lane
                if SPLIT:
                    high, low = encoded(in_z, SPLIT)
                    tl.store(out_low_pointer + to, low)
                else:
                    high, low = encoded(in_z * factor, SPLIT)
                    reach = reached(reach, in_z, SLICE, COLUMNS)
                tl.store(out_high_pointer + to, high)
            more = ()
            for k in tl.static_range(INPUTS):
                x = coordinate(x_pointer, network, inside, points, k, INPUTS)
                more = more + (columns[k] + in_z * x,)  # noqa: RUF005
            columns = more + (columns[INPUTS] + in_z,)  # noqa: RUF005
        # The next tile's product must not come before everyone has read this one.
        tl.debug_barrier()
    # Placed from the beginning, the next gradient would keep the sums for weights from running beside this one.
    let_next(EARLY)
    to = column_pointer + ((network * (slots // across) + slot // across) * SLICE + few) * ((INPUTS + 1) * width)
    for k in tl.static_range(INPUTS):
        tl.store(to + (first + lane) * INPUTS + k, columns[k] * unit)
    tl.store(to + INPUTS * width + first + lane, columns[INPUTS] * unit)
    if not SPLIT and INPUTS == 0:
        tl.store(below_reach_pointer + tl.program_id(0), tl.max(reach) * unit)
    if TRAINED:
        keep_sums(sums, unit, partial_pointer, network, slot, slots, TERMS, SLICE * COLUMNS // 4)
