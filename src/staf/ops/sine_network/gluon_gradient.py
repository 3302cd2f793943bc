"""Device code of the gradient of hidden sine layers for many rows: `triton_gradient`, by products of `gluon_tiles`."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from staf.ops.sine_network.gluon_tiles import (
    COLUMNS,
    FULL,
    MULTIPLYING,
    PARTS,
    ROWS,
    SLICE,
    SPREAD,
    following,
    multiply,
    released,
    shared_memory,
    stages,
    taken,
    work_of_program,
)
from staf.ops.sine_network.triton_gradient import (
    across_thread,
    differentiated,
    largest_of_layout,
    reached,
    scale_below,
    steepest,
    terms,
)
from staf.ops.sine_network.triton_layer import coordinate, encoded

LINE = gl.constexpr(gl.BlockedLayout([4], [32], [16], [0]))


@gluon.jit
def _inner(inner_pointer, row, first, width, INPUTS: gl.constexpr):
    """SLICE rows of z as they were kept, from `row` on; zeros with INPUTS, where it is computed."""
    if INPUTS == 0:
        lane = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SPREAD))[None, :]
        few = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD))[:, None]
        z = gl.load(inner_pointer + (row + few).to(gl.int64) * width + first + lane)
    else:
        z = gl.zeros([SLICE, COLUMNS], gl.float32, SPREAD)
    return z


@gluon.jit
def _differentiate(
    place,
    barriers,
    work,
    inner_pointer,
    x_pointer,
    below,
    out,
    partial_pointer,
    column_pointer,
    scales,
    points,
    width,
    weight_reaches,
    reaches,
    SPLIT: gl.constexpr,
    TERMS: gl.constexpr,
    TRAINED: gl.constexpr,
    INPUTS: gl.constexpr,
    MOST_WEIGHT_REACHES: gl.constexpr,
    MOST_REACHES: gl.constexpr,
    STAGES: gl.constexpr,
):
    """The work of the warps that compute sines: one product after the other."""
    network, first, slot, slots, first_row, start, tiles, step = work
    weight_pointer, bias_pointer = below[0], below[1]
    out_high_pointer, out_low_pointer = out
    weight_reach_pointer, reach_pointer, factor_pointer, below_reach_pointer, below_factor_pointer = scales
    lane = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SPREAD))[None, :]
    few = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD))[:, None]
    nothing = gl.zeros([SLICE, COLUMNS], gl.float32, SPREAD)
    none = across_thread(nothing, SLICE, COLUMNS)
    constants = terms(below, network, INPUTS > 0, TERMS)
    sums = ()
    for _ in gl.static_range(3 * TERMS):
        sums = sums + (none,)  # noqa: RUF005
    columns = (nothing,)
    inner_weights = ()
    bias = nothing
    if INPUTS > 0:
        bias = gl.load(bias_pointer + network * width + first + lane) + nothing
    for k in gl.static_range(INPUTS):
        columns = columns + (nothing,)  # noqa: RUF005
        at = (network * width + first + lane) * INPUTS + k
        inner_weights = inner_weights + (gl.load(weight_pointer + at) + nothing,)  # noqa: RUF005
    # Everything here is linear in g, so that its factor is taken off the sums, not off each number.
    unit = gl.to_tensor(1.0)
    factor = gl.to_tensor(1.0)
    if not SPLIT:
        unit = 1.0 / gl.load(factor_pointer + network)
        if INPUTS == 0:
            heaviest = largest_of_layout(
                weight_reach_pointer, network, weight_reaches, gl.arange(0, MOST_WEIGHT_REACHES, layout=LINE)
            )
            largest = largest_of_layout(reach_pointer, network, reaches, gl.arange(0, MOST_REACHES, layout=LINE))
            factor = scale_below(largest * heaviest * width, steepest(constants, TERMS))
            if slot == 0:
                gl.store(below_factor_pointer + network, factor)
            factor *= unit
    reach = none
    stage = 0
    phase = 0
    # Two slices are asked for ahead.
    soon = _inner(inner_pointer, first_row + start * ROWS, first, width, INPUTS)
    later = _inner(inner_pointer, first_row + start * ROWS + SLICE, first, width, INPUTS)
    for tile in range(start, tiles, step):
        mbarrier.wait(barriers.index(FULL + stage), phase)
        for part in gl.static_range(PARTS):
            z = soon.to(gl.float32)
            soon = later
            next_tile = gl.minimum(tile + (part + 2) // PARTS * step, tiles - 1)
            after = first_row + next_tile * ROWS + (part + 2) % PARTS * SLICE
            later = _inner(inner_pointer, after, first, width, INPUTS)
            grad = taken(place, barriers, stage, part, STAGES)
            inside = tile * ROWS + part * SLICE + few
            coordinates = ()
            if INPUTS > 0:
                z = bias
                for k in gl.static_range(INPUTS):
                    x = coordinate(x_pointer, network, inside, points, k, INPUTS) + nothing
                    coordinates = coordinates + (x,)  # noqa: RUF005
                    z = gl.fma(x, inner_weights[k], z)
            in_z, _value, sums = differentiated(
                grad, z, nothing, constants, sums, INPUTS > 0, False, TERMS, TRAINED, 0, SLICE, COLUMNS
            )
            if INPUTS == 0:
                to = (first_row + inside).to(gl.int64) * width + first + lane
                if SPLIT:
                    high, low = encoded(in_z, SPLIT)
                    gl.store(out_low_pointer + to, low)
                else:
                    high, low = encoded(in_z * factor, SPLIT)
                    reach = reached(reach, in_z, SLICE, COLUMNS)
                gl.store(out_high_pointer + to, high)
            more = ()
            for k in gl.static_range(INPUTS):
                more = more + (gl.fma(in_z, coordinates[k], columns[k]),)  # noqa: RUF005
            columns = more + (columns[INPUTS] + in_z,)  # noqa: RUF005
        released(barriers, stage, STAGES)
        stage, phase = following(stage, phase, STAGES)
    to = column_pointer + ((network * step + start) * SLICE + few) * ((INPUTS + 1) * width)
    for k in gl.static_range(INPUTS):
        gl.store(to + (first + lane) * INPUTS + k, columns[k] * unit)
    gl.store(to + INPUTS * width + first + lane, columns[INPUTS] * unit)
    warp = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD))
    if not SPLIT and INPUTS == 0:
        of_warps = gl.convert_layout(gl.max(reach, axis=1), gl.SliceLayout(1, SPREAD))
        gl.store(below_reach_pointer + (network * slots + slot) * SLICE + warp, of_warps * unit)
    if TRAINED:
        kept = partial_pointer + network.to(gl.int64) * 3 * TERMS * slots * SLICE + slot * SLICE + warp
        for k in gl.static_range(TERMS):
            for which in gl.static_range(3):
                added = gl.convert_layout(gl.sum(sums[3 * k + which], axis=1), gl.SliceLayout(1, SPREAD))
                gl.store(kept + (which * TERMS + k) * slots * SLICE, added * unit)


@gluon.jit
def shared_gradient_kernel(
    g_high,
    g_low,
    b_high,
    b_low,
    inner_pointer,
    x_pointer,
    below,
    out,
    partial_pointer,
    column_pointer,
    scales,
    points,
    height,
    width,
    weight_reaches,
    reaches,
    slots,
    SPLIT: gl.constexpr,
    TERMS: gl.constexpr,
    TRAINED: gl.constexpr,
    INPUTS: gl.constexpr,
    WIDTH: gl.constexpr,
    MOST_WEIGHT_REACHES: gl.constexpr,
    MOST_REACHES: gl.constexpr,
):
    """`triton_gradient.gradient_kernel`; reaches of the results are one for each warp: (networks, slots, SLICE)."""
    work = work_of_program(slots, height, width)
    operands, weights, place, barriers = shared_memory(g_high, b_high, SPLIT, WIDTH)
    # A tuple with a name would have no constants.
    gl.warp_specialize(
        [
            (
                _differentiate,
                (
                    place,
                    barriers,
                    work,
                    inner_pointer,
                    x_pointer,
                    below,
                    out,
                    partial_pointer,
                    column_pointer,
                    scales,
                    points,
                    width,
                    weight_reaches,
                    reaches,
                    SPLIT,
                    TERMS,
                    TRAINED,
                    INPUTS,
                    MOST_WEIGHT_REACHES,
                    MOST_REACHES,
                    stages(SPLIT, WIDTH),
                ),
            ),
            (
                multiply,
                (
                    g_high,
                    g_low,
                    b_high,
                    b_low,
                    operands,
                    weights,
                    place,
                    barriers,
                    work,
                    SPLIT,
                    WIDTH,
                ),
            ),
        ],
        [4],
        [MULTIPLYING],
    )
