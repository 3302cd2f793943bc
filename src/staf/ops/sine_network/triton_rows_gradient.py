"""Device code of all gradients for few rows: a program takes its rows back through all layers, in one launch.

As in `triton_rows` a row needs no other row. What is left to add up lies in slots, one for each program.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.sine_network.triton_gradient import (
    differentiated,
    keep_sums,
    reached,
    reaches_of,
    scale_below,
    steepest,
    terms,
)
from staf.ops.sine_network.triton_layer import coordinate, encoded
from staf.ops.triton_early import begin


@triton.jit
def rows_gradient_kernel(
    grad_pointer,
    x_pointer,
    layers,
    weights_pointer,
    output_pointer,
    inner_pointer,
    plane_pointer,
    place_pointer,
    partials,
    columns,
    weight_reach_pointer,
    reach_pointer,
    factor_pointer,
    points,
    height,
    networks,
    weight_reaches,
    reaches,
    SPLIT: tl.constexpr,
    INPUTS: tl.constexpr,
    TERMS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    HIDDEN: tl.constexpr,
    KIND: tl.constexpr,
    TRAINED: tl.constexpr,
    ROWS: tl.constexpr,
    SLICE: tl.constexpr,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
    MOST_WEIGHT_REACHES: tl.constexpr,
    MOST_REACHES: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """Planes of each hidden layer's gradient, (1 or 2, HIDDEN, rows, WIDTH), and the sums of every layer in slots.

    `layers` are `tiles.Layer`s of TERMS terms; weights are the planes of transposed ones, (1 or 2, HIDDEN, networks,
    WIDTH, WIDTH). Of each layer, the last one first, `partials` get the sinusoids' sums and `columns` those of columns,
    as `last_gradient_kernel` and `gradient_kernel` leave them, where a slot is a program of ROWS rows.

    Unless SPLIT, planes are stored times factor (HIDDEN, networks, slots), a power of two for each program's rows.
    """
    begin(EARLY)
    slots = height // ROWS
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    # Rows are few, so that all of this fits 32 bits.
    row = tl.program_id(0) * ROWS
    size = networks * height * WIDTH
    low_pointer = plane_pointer + HIDDEN * size
    lane = tl.arange(0, WIDTH)[None, :]
    few = tl.arange(0, SLICE)[:, None]
    nothing = tl.zeros((SLICE, WIDTH), dtype=tl.float32)
    # The output layer and the last sines.
    constants = terms(layers[HIDDEN], network, KIND > 0, TERMS)
    later = tl.load(inner_pointer + (HIDDEN - 1) * size + (row + few) * WIDTH + lane)
    soon = _given(grad_pointer, network, slot * ROWS + few, points, OUTPUTS)
    sums = _nothings(3 * TERMS, SLICE, WIDTH)
    weights = ()
    added = (nothing,)
    heaviest = tl.zeros((1, WIDTH), dtype=tl.float32)
    for c in tl.static_range(OUTPUTS):
        weight = tl.load(output_pointer + (network * OUTPUTS + c) * WIDTH + lane)
        heaviest += tl.abs(weight)
        weights = weights + (weight + nothing,)  # noqa: RUF005
        added = added + (nothing,)  # noqa: RUF005
    factor = tl.full([], 1.0, tl.float32)
    if not SPLIT:
        large = reaches_of(reach_pointer, network, reaches, MOST_REACHES)
        factor = scale_below(tl.max(large) * tl.max(heaviest), steepest(constants, TERMS))
    reach = tl.zeros((SLICE, WIDTH // 4), dtype=tl.float32)
    for start in range(0, ROWS, SLICE):
        z = later.to(tl.float32)
        told = soon
        following = tl.minimum(start + SLICE, ROWS - SLICE) + few
        later = tl.load(inner_pointer + (HIDDEN - 1) * size + (row + following) * WIDTH + lane)
        soon = _given(grad_pointer, network, slot * ROWS + following, points, OUTPUTS)
        grad = nothing
        for c in tl.static_range(OUTPUTS):
            grad += told[c] * weights[c]
        in_z, value, sums = differentiated(
            grad, z, nothing, constants, sums, False, True, TERMS, TRAINED, KIND, SLICE, WIDTH
        )
        more = (added[0] + in_z,)
        for c in tl.static_range(OUTPUTS):
            more = more + (added[c + 1] + told[c] * value,)  # noqa: RUF005
        added = more
        to_plane = (HIDDEN - 1) * size + (row + start + few) * WIDTH + lane
        reach = _stored(in_z, factor, reach, plane_pointer, low_pointer, to_plane, SPLIT, SLICE, WIDTH)
    if TRAINED:
        keep_sums(sums, 1.0, partials[0], network, slot, slots, TERMS, SLICE * WIDTH // 4)
    to = columns[0] + (tl.program_id(0) * SLICE + few) * ((OUTPUTS + 1) * WIDTH + OUTPUTS)
    for c in tl.static_range(OUTPUTS + 1):
        tl.store(to + c * WIDTH + lane, added[c])
    for c in tl.static_range(OUTPUTS):
        inside = slot * ROWS + tl.arange(0, ROWS)
        place = (network * points + inside) * OUTPUTS + c
        plain = tl.sum(tl.load(grad_pointer + place, mask=inside < points, other=0.0))
        tl.store(to + (OUTPUTS + 1) * WIDTH + c, tl.where(few == 0, plain, 0.0))
    unit = tl.full([], 1.0, tl.float32)
    for step in tl.static_range(HIDDEN):
        reach, factor, unit = _layer(
            x_pointer,
            layers[HIDDEN - 1 - step],
            weights_pointer,
            inner_pointer,
            plane_pointer,
            place_pointer,
            partials[step + 1],
            columns[step + 1],
            weight_reach_pointer,
            factor_pointer,
            points,
            height,
            networks,
            weight_reaches,
            reach,
            factor,
            unit,
            SPLIT,
            INPUTS,
            TERMS,
            HIDDEN,
            KIND,
            TRAINED,
            ROWS,
            SLICE,
            WIDTH,
            COLUMNS,
            MOST_WEIGHT_REACHES,
            HIDDEN - 1 - step,
            step == HIDDEN - 1,
        )


@triton.jit
def _layer(
    x_pointer,
    below,
    weights_pointer,
    inner_pointer,
    plane_pointer,
    place_pointer,
    partial_pointer,
    column_pointer,
    weight_reach_pointer,
    factor_pointer,
    points,
    height,
    networks,
    weight_reaches,
    reach,
    factor,
    unit,
    SPLIT: tl.constexpr,
    INPUTS: tl.constexpr,
    TERMS: tl.constexpr,
    HIDDEN: tl.constexpr,
    KIND: tl.constexpr,
    TRAINED: tl.constexpr,
    ROWS: tl.constexpr,
    SLICE: tl.constexpr,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
    MOST_WEIGHT_REACHES: tl.constexpr,
    INDEX: tl.constexpr,
    FIRST: tl.constexpr,
):
    """From hidden layer INDEX to the layer `below`, which is the FIRST one for INDEX 0.

    `reach` was measured in numbers that are 1 / `unit` times too large, and the planes are stored times `factor`; the
    same three of the layer below are returned.
    """
    slots = height // ROWS
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    row = tl.program_id(0) * ROWS
    size = networks * height * WIDTH
    square = networks * WIDTH * WIDTH
    low_pointer = plane_pointer + HIDDEN * size
    product = place_pointer + row * WIDTH
    lane = tl.arange(0, WIDTH)[None, :]
    few = tl.arange(0, SLICE)[:, None]
    tall = tl.arange(0, ROWS)[:, None]
    nothing = tl.zeros((SLICE, WIDTH), dtype=tl.float32)
    constants = terms(below, network, FIRST or KIND > 0, TERMS)
    if not FIRST:
        source = inner_pointer + (INDEX - 1) * size + row * WIDTH + lane
        later_z = tl.load(source + few * WIDTH)
    if not SPLIT:
        tl.store(factor_pointer + INDEX * networks * slots + tl.program_id(0), factor)
        if not FIRST:
            kept = weight_reach_pointer + INDEX * networks * weight_reaches
            heavy = reaches_of(kept, network, weight_reaches, MOST_WEIGHT_REACHES)
            largest = tl.max(reach) * unit * tl.max(heavy) * WIDTH
        unit = 1.0 / factor
        if not FIRST:
            factor = scale_below(largest, steepest(constants, TERMS))
    # All of this program's threads have written the plane, and have read the product before this one.
    tl.debug_barrier()
    g = tl.load(plane_pointer + INDEX * size + (row + tall) * WIDTH + lane)
    if SPLIT:
        g_rest = tl.load(low_pointer + INDEX * size + (row + tall) * WIDTH + lane)
    matrix = weights_pointer + INDEX * square + network * WIDTH * WIDTH
    for start in range(0, WIDTH, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        b = tl.load(matrix + column[:, None] * WIDTH + lane)
        total = tl.dot(g, b.T)
        if SPLIT:
            b_rest = tl.load(matrix + HIDDEN * square + column[:, None] * WIDTH + lane)
            total = tl.dot(g_rest, b.T, total)
            total = tl.dot(g, b_rest.T, total)
        tl.store(product + tall * WIDTH + column[None, :], total)
    tl.debug_barrier()
    later = tl.load(product + few * WIDTH + lane)
    sums = _nothings(3 * TERMS, SLICE, WIDTH)
    added = (nothing,)
    weights = ()
    bias = nothing
    if FIRST:
        bias = tl.load(below[1] + network * WIDTH + lane) + nothing
        for k in tl.static_range(INPUTS):
            added = added + (nothing,)  # noqa: RUF005
            weights = weights + (tl.load(below[0] + (network * WIDTH + lane) * INPUTS + k) + nothing,)  # noqa: RUF005
    reach = tl.zeros((SLICE, WIDTH // 4), dtype=tl.float32)
    for start in range(0, ROWS, SLICE):
        grad = later
        following = tl.minimum(start + SLICE, ROWS - SLICE) + few
        later = tl.load(product + following * WIDTH + lane)
        inside = slot * ROWS + start + few
        if FIRST:
            z = bias
            for k in tl.static_range(INPUTS):
                z = tl.fma(coordinate(x_pointer, network, inside, points, k, INPUTS) + nothing, weights[k], z)
        else:
            z = later_z.to(tl.float32)
            later_z = tl.load(source + following * WIDTH)
        in_z, _value, sums = differentiated(
            grad, z, nothing, constants, sums, FIRST, False, TERMS, TRAINED, KIND, SLICE, WIDTH
        )
        more = ()
        if FIRST:
            for k in tl.static_range(INPUTS):
                x = coordinate(x_pointer, network, inside, points, k, INPUTS)
                more = more + (added[k] + in_z * x,)  # noqa: RUF005
            added = more + (added[INPUTS] + in_z,)  # noqa: RUF005
        else:
            added = (added[0] + in_z,)
            to = (INDEX - 1) * size + (row + start + few) * WIDTH + lane
            reach = _stored(in_z, factor * unit, reach, plane_pointer, low_pointer, to, SPLIT, SLICE, WIDTH)
    if TRAINED:
        keep_sums(sums, unit, partial_pointer, network, slot, slots, TERMS, SLICE * WIDTH // 4)
    if FIRST:
        to_first = column_pointer + (tl.program_id(0) * SLICE + few) * ((INPUTS + 1) * WIDTH)
        for k in tl.static_range(INPUTS):
            tl.store(to_first + lane * INPUTS + k, added[k] * unit)
        tl.store(to_first + INPUTS * WIDTH + lane, added[INPUTS] * unit)
    else:
        tl.store(column_pointer + (tl.program_id(0) * SLICE + few) * WIDTH + lane, added[0] * unit)
    return reach, factor, unit


@triton.jit
def _given(grad_pointer, network, inside, points, OUTPUTS: tl.constexpr):
    """The outputs' gradients of some rows of a network; zeros for padded ones."""
    told = ()
    for c in tl.static_range(OUTPUTS):
        place = (network * points + inside) * OUTPUTS + c
        told = told + (tl.load(grad_pointer + place, mask=inside < points, other=0.0),)  # noqa: RUF005
    return told


@triton.jit
def _nothings(COUNT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Zeros for so many sums over a thread's neighbours."""
    sums = ()
    for _ in tl.static_range(COUNT):
        sums = sums + (tl.zeros((ROWS, COLUMNS // 4), dtype=tl.float32),)  # noqa: RUF005
    return sums


@triton.jit
def _stored(
    in_z, factor, reach, plane_pointer, low_pointer, to, SPLIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Store the planes of a result; the largest |number| so far, which two planes do not need."""
    if SPLIT:
        high, low = encoded(in_z, SPLIT)
        tl.store(low_pointer + to, low)
    else:
        high, low = encoded(in_z * factor, SPLIT)
        reach = reached(reach, in_z, ROWS, COLUMNS)
    tl.store(plane_pointer + to, high)
    return reach
