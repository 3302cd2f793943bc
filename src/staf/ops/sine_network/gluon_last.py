"""Device code of the output's and the last sines' gradient for many rows: `triton_ends.last_gradient_kernel`."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from staf.ops.sine_network.triton_gradient import (
    across_thread,
    differentiated,
    largest_of_layout,
    reached,
    scale_below,
    steepest,
    terms,
)
from staf.ops.sine_network.triton_layer import encoded

# Rows of a slice are those of warps, and a thread has four neighbours.
SLICE = gl.constexpr(4)
COLUMNS = gl.constexpr(128)
SPREAD = gl.constexpr(gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0]))
LINE = gl.constexpr(gl.BlockedLayout([4], [32], [4], [0]))


@gluon.jit
def _given(grad_pointer, network, inside, points, OUTPUTS: gl.constexpr):
    """The outputs' gradients of some rows of a network; zeros for padded ones."""
    told = ()
    for c in gl.static_range(OUTPUTS):
        place = (network.to(gl.int64) * points + inside) * OUTPUTS + c
        told = told + (gl.load(grad_pointer + place, mask=inside < points, other=0.0),)  # noqa: RUF005
    return told


@gluon.jit
def shared_last_kernel(
    grad_pointer,
    inner_pointer,
    output_pointer,
    layer,
    out,
    partial_pointer,
    column_pointer,
    given_reach_pointer,
    reach_pointer,
    factor_pointer,
    points,
    height,
    width,
    given_reaches,
    slots,
    SPLIT: gl.constexpr,
    TERMS: gl.constexpr,
    TRAINED: gl.constexpr,
    OUTPUTS: gl.constexpr,
    WIDTH: gl.constexpr,
    SHARE: gl.constexpr,
    MOST_REACHES: gl.constexpr,
):
    """`triton_ends.last_gradient_kernel`; a slot has a program for each COLUMNS columns, and so many reaches."""
    across = width // COLUMNS
    slot = gl.program_id(0) // across % slots
    network = gl.program_id(0) // across // slots
    first = gl.program_id(0) % across * COLUMNS
    lane = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SPREAD))[None, :]
    few = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD))[:, None]
    nothing = gl.zeros([SLICE, COLUMNS], gl.float32, SPREAD)
    none = across_thread(nothing, SLICE, COLUMNS)
    constants = terms(layer, network, False, TERMS)
    out_high_pointer, out_low_pointer = out
    sums = ()
    for _ in gl.static_range(3 * TERMS):
        sums = sums + (none,)  # noqa: RUF005
    weights = ()
    columns = (nothing,)
    for c in gl.static_range(OUTPUTS):
        at = (network * OUTPUTS + c) * width + first + lane
        weights = weights + (gl.load(output_pointer + at) + nothing,)  # noqa: RUF005
        columns = columns + (nothing,)  # noqa: RUF005
    factor = gl.to_tensor(1.0)
    if not SPLIT:
        every = gl.arange(0, WIDTH, layout=LINE)
        heaviest = gl.zeros([WIDTH], gl.float32, LINE)
        for c in gl.static_range(OUTPUTS):
            heaviest += gl.abs(gl.load(output_pointer + (network * OUTPUTS + c) * width + every))
        largest = largest_of_layout(
            given_reach_pointer, network, given_reaches, gl.arange(0, MOST_REACHES, layout=LINE)
        ) * gl.max(heaviest)
        factor = scale_below(largest, steepest(constants, TERMS))
        if gl.program_id(0) % (slots * across) == 0:
            gl.store(factor_pointer + network, factor)
    reach = none
    source = inner_pointer + network.to(gl.int64) * height * width + first + lane
    inside = slot * SHARE + few
    soon = gl.load(source + inside * width)
    later = gl.load(source + (inside + SLICE) * width)
    given = _given(grad_pointer, network, inside, points, OUTPUTS)
    for start in range(0, SHARE, SLICE):
        inside = slot * SHARE + start + few
        z = soon.to(gl.float32)
        soon = later
        # Two slices are asked for ahead, the last ones again.
        later = gl.load(source + (slot * SHARE + gl.minimum(start + 2 * SLICE, SHARE - SLICE) + few) * width)
        told = given
        given = _given(grad_pointer, network, inside + SLICE, points, OUTPUTS)
        grad = nothing
        for c in gl.static_range(OUTPUTS):
            grad = gl.fma(told[c] + nothing, weights[c], grad)
        in_z, value, sums = differentiated(
            grad, z, nothing, constants, sums, False, True, TERMS, TRAINED, 0, SLICE, COLUMNS
        )
        summed = (columns[0] + in_z,)
        for c in gl.static_range(OUTPUTS):
            summed = summed + (gl.fma(told[c] + nothing, value, columns[c + 1]),)  # noqa: RUF005
        columns = summed
        to = (network.to(gl.int64) * height + inside) * width + first + lane
        if SPLIT:
            high, low = encoded(in_z, SPLIT)
            gl.store(out_low_pointer + to, low)
        else:
            high, low = encoded(in_z * factor, SPLIT)
            reach = reached(reach, in_z, SLICE, COLUMNS)
        gl.store(out_high_pointer + to, high)
    if not SPLIT:
        gl.store(reach_pointer + gl.program_id(0), gl.max(gl.max(reach, axis=1), axis=0))
    warp = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD))
    if TRAINED:
        inner_slots = slots * across * SLICE
        at = network.to(gl.int64) * 3 * TERMS * inner_slots + gl.program_id(0) % (slots * across) * SLICE + warp
        for k in gl.static_range(TERMS):
            for which in gl.static_range(3):
                added = gl.convert_layout(gl.sum(sums[3 * k + which], axis=1), gl.SliceLayout(1, SPREAD))
                gl.store(partial_pointer + at + (which * TERMS + k) * inner_slots, added)
    length = (OUTPUTS + 1) * width + OUTPUTS
    to = column_pointer + ((network * slots + slot) * SLICE + few) * length
    for c in gl.static_range(OUTPUTS + 1):
        gl.store(to + c * width + first + lane, columns[c])
    rest = slot * SHARE + gl.arange(0, SHARE, layout=LINE)
    for c in gl.static_range(OUTPUTS):
        place = (network.to(gl.int64) * points + rest) * OUTPUTS + c
        plain = gl.sum(gl.load(grad_pointer + place, mask=rest < points, other=0.0), axis=0)
        gl.store(to + (OUTPUTS + 1) * width + c, gl.where(few == 0, plain, 0.0))
