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
from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns


@triton.jit
def scale_below(largest, steepest):
    """The power of two that brings numbers of up to `largest` times `steepest` below 2^15, float16's largest half."""
    bound = tl.maximum(largest * steepest, 1e-30)
    return tl.exp2(14.0 - tl.ceil(tl.log2(bound)))


@triton.jit
def terms(amplitude_pointer, frequency_pointer, phase_pointer, network, EXACT: tl.constexpr, TERMS: tl.constexpr):
    """Five constants of each term: amplitude, steepest slope, and two or three of its angle."""
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
def differentiated(
    grad,
    z,
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
    """grad rho'(z), rho(z) where VALUED, and the sinusoids' sums with this tile's where TRAINED."""
    slope = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    value = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    scaled = grad * z
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
def _add2(a, b, other_a, other_b):
    return a + other_a, b + other_b


@triton.jit
def _add4(a, b, c, d, other_a, other_b, other_c, other_d):
    return a + other_a, b + other_b, c + other_c, d + other_d


@triton.jit
def totals_of(tensors, axis: tl.constexpr, COUNT: tl.constexpr):
    """The sums of COUNT tensors, up to four at a time: warps wait for each other as often as for one."""
    result = ()
    for index in tl.static_range(0, COUNT // 4 * 4, 4):
        a, b, c, d = tl.reduce(
            (tensors[index], tensors[index + 1], tensors[index + 2], tensors[index + 3]), axis, _add4
        )
        result = result + (a, b, c, d)  # noqa: RUF005
    for index in tl.static_range(COUNT // 4 * 4, COUNT // 2 * 2, 2):
        a, b = tl.reduce((tensors[index], tensors[index + 1]), axis, _add2)
        result = result + (a, b)  # noqa: RUF005
    for index in tl.static_range(COUNT // 2 * 2, COUNT):
        result = result + (tl.sum(tensors[index], axis=axis),)  # noqa: RUF005
    return result


@triton.jit
def keep_sums(sums, partial_pointer, network, slot, slots, TERMS: tl.constexpr):
    """A slot's sums; those of one network and sum lie together: (networks, 3, TERMS, slots)."""
    kept = partial_pointer + network.to(tl.int64) * 3 * TERMS * slots + slot
    totals = totals_of(sums, None, 3 * TERMS)
    for k in tl.static_range(TERMS):
        for which in tl.static_range(3):
            tl.store(kept + (which * TERMS + k) * slots, totals[3 * k + which])


@triton.jit
def gradient_kernel(
    g_high,
    g_low,
    b_high,
    b_low,
    inner_pointer,
    x_pointer,
    weight_pointer,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_high_pointer,
    out_low_pointer,
    place_pointer,
    partial_pointer,
    column_pointer,
    largest_pointer,
    scale_pointer,
    below_pointer,
    points,
    height,
    width,
    networks,
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
):
    """(g b^T) rho'(z) of the layer below: its planes, the sums of its columns, and the sinusoids' sums where TRAINED.

    With INPUTS, the layer below is the first one: z is computed from coordinates, its angles are reduced exactly, and
    instead of planes there are the sums of columns times each coordinate, as the first layer's weights lie, (width,
    INPUTS), then plain ones, for its biases.

    Unless SPLIT, largest (networks,) is the largest |b|, and scale (2, networks) the largest |g| and the factor that g
    was stored with. The results' largest and factor go to the same places in below.
    """
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    across = width // COLUMNS
    first = (slot % across) * COLUMNS
    lane = tl.arange(0, COLUMNS)[None, :]
    tall = tl.arange(0, ROWS)[:, None]
    few = tl.arange(0, SLICE)[:, None]
    place = place_pointer + tl.program_id(0) * (ROWS * COLUMNS)
    constants = terms(amplitude_pointer, frequency_pointer, phase_pointer, network, INPUTS > 0 or KIND > 0, TERMS)
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
    factor = 1.0
    unscaled = 1.0
    if not SPLIT:
        largest = tl.load(scale_pointer + network) * tl.load(largest_pointer + network) * width
        factor = scale_below(largest, steepest(constants, TERMS))
        unscaled = 1.0 / tl.load(scale_pointer + networks + network)
        if INPUTS == 0 and slot == 0:
            tl.store(below_pointer + networks + network, factor)
    reach = nothing
    for tile in range(slot // across, height // ROWS, slots // across):
        row = network * height + tile * ROWS
        total = product(g_high, g_low, b_high, b_low, row, network * width + first, width, SPLIT, ROWS, COLUMNS, DEPTH)
        if not SPLIT:
            total *= unscaled
        tl.store(place + tall * COLUMNS + lane, total)
        tl.debug_barrier()
        source = inner_pointer + row.to(tl.int64) * width + first
        later = tl.load(place + few * COLUMNS + lane)
        if INPUTS == 0:
            later_z = tl.load(source + few * width + lane)
        for start in range(0, ROWS, SLICE):
            grad = later
            following = tl.minimum(start + SLICE, ROWS - SLICE) + few
            later = tl.load(place + following * COLUMNS + lane)
            inside = tile * ROWS + start + few
            if INPUTS == 0:
                z = later_z
                later_z = tl.load(source + following * width + lane)
            else:
                z = tl.load(bias_pointer + network * width + first + lane) + nothing
                for k in tl.static_range(INPUTS):
                    z = tl.fma(coordinate(x_pointer, network, inside, points, k, INPUTS) + nothing, weights[k], z)
            in_z, _value, sums = differentiated(
                grad, z, constants, sums, INPUTS > 0, False, TERMS, TRAINED, KIND, SLICE, COLUMNS
            )
            if INPUTS == 0:
                to = (row + start + few).to(tl.int64) * width + first + lane
                if SPLIT:
                    high, low = encoded(in_z, SPLIT)
                    tl.store(out_low_pointer + to, low)
                else:
                    high, low = encoded(in_z * factor, SPLIT)
                    reach = tl.maximum(reach, tl.abs(in_z))
                tl.store(out_high_pointer + to, high)
            more = ()
            for k in tl.static_range(INPUTS):
                x = coordinate(x_pointer, network, inside, points, k, INPUTS)
                more = more + (columns[k] + in_z * x,)  # noqa: RUF005
            columns = more + (columns[INPUTS] + in_z,)  # noqa: RUF005
        # The next tile's product must not come before everyone has read this one.
        tl.debug_barrier()
    to = column_pointer + (network * (slots // across) + slot // across) * ((INPUTS + 1) * width)
    own = first + tl.arange(0, COLUMNS)
    added = totals_of(columns, 0, INPUTS + 1)
    for k in tl.static_range(INPUTS):
        tl.store(to + own * INPUTS + k, added[k])
    tl.store(to + INPUTS * width + own, added[INPUTS])
    if not SPLIT and INPUTS == 0:
        tl.atomic_max(below_pointer + network, tl.max(reach))
    if TRAINED:
        keep_sums(sums, partial_pointer, network, slot, slots, TERMS)
