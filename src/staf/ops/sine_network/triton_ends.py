"""Device code of both ends of a sine network: coordinates to planes, and the output layer with the last sines."""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.pointwise_triton import derivative
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
from staf.ops.sine_network.triton_sums import split_tile
from staf.ops.triton_early import begin
from staf.ops.triton_math import hardware_sine, reduced_angle


@triton.jit
def first_kernel(
    x_pointer,
    layer,
    out,
    weights,
    split_pointer,
    largest_pointer,
    counter_pointer,
    points,
    height,
    width,
    networks,
    programs,
    counters,
    SPLIT: tl.constexpr,
    INPUTS: tl.constexpr,
    TERMS: tl.constexpr,
    ROWS: tl.constexpr,
    SLICE: tl.constexpr,
    COLUMNS: tl.constexpr,
    KIND: tl.constexpr,
    LAYERS: tl.constexpr,
    SIDE: tl.constexpr,
    COUNTERS: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """Planes of rho(x W^T + b), by the first `programs`, and of all hidden layers' weights, by the others.

    `counters` zeros are written for a later kernel, up to COUNTERS.
    """
    begin(EARLY)
    if tl.program_id(0) == 0:
        lane = tl.arange(0, COUNTERS)
        tl.store(counter_pointer + lane, tl.zeros((COUNTERS,), dtype=tl.int32), mask=lane < counters)
    if tl.program_id(0) >= programs:
        index = tl.program_id(0) - programs
        split_tile(weights, split_pointer, largest_pointer, index, networks, width, SPLIT, LAYERS, SIDE)
    else:
        _first_rows(
            x_pointer,
            layer,
            out,
            points,
            height,
            width,
            SPLIT,
            INPUTS,
            TERMS,
            ROWS,
            SLICE,
            COLUMNS,
            KIND,
        )


@triton.jit
def _coordinates(x_pointer, network, inside, points, INPUTS: tl.constexpr):
    """All coordinates of some rows of a network, or zeros."""
    found = ()
    for k in tl.static_range(INPUTS):
        found = found + (coordinate(x_pointer, network, inside, points, k, INPUTS),)  # noqa: RUF005
    return found


@triton.jit
def _first_rows(
    x_pointer,
    layer,
    out,
    points,
    height,
    width,
    SPLIT: tl.constexpr,
    INPUTS: tl.constexpr,
    TERMS: tl.constexpr,
    ROWS: tl.constexpr,
    SLICE: tl.constexpr,
    COLUMNS: tl.constexpr,
    KIND: tl.constexpr,
):
    """The first layer, padded rows included; a program has ROWS rows of one network, SLICE at a time."""
    row = tl.program_id(0) * ROWS
    network = row // height
    column = tl.arange(0, COLUMNS)[None, :]
    left = column < width
    few = tl.arange(0, SLICE)[:, None]
    nothing = tl.zeros((SLICE, COLUMNS), dtype=tl.float32)
    constants = terms(layer, network, True, TERMS)
    weight_pointer, bias_pointer = layer[0], layer[1]
    out_high_pointer, out_low_pointer = out
    bias = tl.load(bias_pointer + network * width + column, mask=left, other=0.0) + nothing
    weights = ()
    for k in tl.static_range(INPUTS):
        at = (network * width + column) * INPUTS + k
        weights = weights + (tl.load(weight_pointer + at, mask=left, other=0.0) + nothing,)  # noqa: RUF005
    soon = _coordinates(x_pointer, network, row % height + few, points, INPUTS)
    for start in range(0, ROWS, SLICE):
        given = soon
        soon = _coordinates(x_pointer, network, row % height + start + SLICE + few, points, INPUTS)
        z = bias
        for k in tl.static_range(INPUTS):
            z = tl.fma(given[k] + nothing, weights[k], z)
        if KIND > 0:
            value = derivative(z, constants[1], constants[2], constants[3], KIND, 0)
        else:
            value = nothing
            for k in tl.static_range(TERMS):
                angle = reduced_angle(z, constants[5 * k + 2], constants[5 * k + 3], constants[5 * k + 4])
                value += constants[5 * k] * hardware_sine(angle)
        high, low = encoded(value, SPLIT)
        to = (row + start + few).to(tl.int64) * width + column
        tl.store(out_high_pointer + to, high, mask=left & (few >= 0))
        if SPLIT:
            tl.store(out_low_pointer + to, low, mask=left & (few >= 0))


@triton.jit
def output_kernel(
    share_pointer,
    bias_pointer,
    out_pointer,
    points,
    height,
    rows,
    TILES: tl.constexpr,
    OUTPUTS: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """Add the shares of the tiles of columns, and the bias: (TILES, OUTPUTS, rows) to (networks, points, OUTPUTS)."""
    begin(EARLY)
    blocks = tl.cdiv(points, BLOCK)
    network = tl.program_id(0) // blocks
    inside = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    exists = inside < points
    for c in tl.static_range(OUTPUTS):
        total = tl.zeros((BLOCK,), dtype=tl.float32) + tl.load(bias_pointer + network * OUTPUTS + c)
        for tile in tl.static_range(TILES):
            place = (tile * OUTPUTS + c) * rows + network * height + inside
            total += tl.load(share_pointer + place, mask=exists, other=0.0)
        tl.store(out_pointer + (network.to(tl.int64) * points + inside) * OUTPUTS + c, total, mask=exists)


@triton.jit
def largest_kernel(x_pointer, out_pointer, elements, blocks, share, BLOCK: tl.constexpr, EARLY: tl.constexpr = False):
    """The largest |x| of each of a network's blocks of `share` numbers: (networks, elements) to (networks, blocks)."""
    begin(EARLY)
    network = (tl.program_id(0) // blocks).to(tl.int64)
    first = (tl.program_id(0) % blocks) * share
    reach = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, share, BLOCK):
        inside = first + start + tl.arange(0, BLOCK)
        x = tl.load(x_pointer + network * elements + inside, mask=inside < elements, other=0.0)
        reach = tl.maximum(reach, tl.abs(x))
    tl.store(out_pointer + tl.program_id(0), tl.max(reach))


@triton.jit
def last_gradient_kernel(
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
    SPLIT: tl.constexpr,
    TERMS: tl.constexpr,
    TRAINED: tl.constexpr,
    OUTPUTS: tl.constexpr,
    SLICE: tl.constexpr,
    COLUMNS: tl.constexpr,
    KIND: tl.constexpr,
    WHOLE: tl.constexpr,
    SHARE: tl.constexpr,
    MOST_REACHES: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """(grad V) rho'(z) for the output layer's weights V (OUTPUTS, width): its planes, and all sums over points.

    A program has SHARE rows, SLICE at a time; WHOLE says that the width is COLUMNS. A slot's sums are those of the
    sinusoids, and by column: of the result, for the last bias, then of rho(z) times each output's gradient, for V, then
    of the OUTPUTS gradients, for V's bias.

    Unless SPLIT, the largest |grad| is that of given_reach (networks, given_reaches), and the result's goes to reach
    (networks, slots) and the factor it is stored with to factor (networks,).
    """
    begin(EARLY)
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    lane = tl.arange(0, COLUMNS)[None, :]
    few = tl.arange(0, SLICE)[:, None]
    left = lane < width if WHOLE == 0 else lane >= 0
    nothing = tl.zeros((SLICE, COLUMNS), dtype=tl.float32)
    constants = terms(layer, network, KIND > 0, TERMS)
    out_high_pointer, out_low_pointer = out
    sums = ()
    for _ in tl.static_range(3 * TERMS):
        sums = sums + (tl.zeros((SLICE, COLUMNS // 4), dtype=tl.float32),)  # noqa: RUF005
    weights = ()
    columns = (nothing,)
    heaviest = tl.zeros((1, COLUMNS), dtype=tl.float32)
    for c in tl.static_range(OUTPUTS):
        weight = tl.load(output_pointer + (network * OUTPUTS + c) * width + lane, mask=left, other=0.0)
        heaviest += tl.abs(weight)
        weights = weights + (weight + nothing,)  # noqa: RUF005
        columns = columns + (nothing,)  # noqa: RUF005
    source = inner_pointer + network.to(tl.int64) * height * width
    later = tl.load(source + (slot * SHARE + few) * width + lane, mask=left, other=0.0)
    soon = ()
    for c in tl.static_range(OUTPUTS):
        place = (network.to(tl.int64) * points + slot * SHARE + few) * OUTPUTS + c
        soon = soon + (tl.load(grad_pointer + place, mask=slot * SHARE + few < points, other=0.0),)  # noqa: RUF005
    factor = 1.0
    if not SPLIT:
        large = reaches_of(given_reach_pointer, network, given_reaches, MOST_REACHES)
        factor = scale_below(tl.max(large) * tl.max(heaviest), steepest(constants, TERMS))
        if slot == 0:
            tl.store(factor_pointer + network, factor)
    reach = tl.zeros((SLICE, COLUMNS // 4), dtype=tl.float32)
    for start in range(0, SHARE, SLICE):
        z = later.to(tl.float32)
        inside = slot * SHARE + start + few
        following = slot * SHARE + tl.minimum(start + SLICE, SHARE - SLICE) + few
        later = tl.load(source + following.to(tl.int64) * width + lane, mask=left, other=0.0)
        grad = nothing
        told = soon
        soon = ()
        for c in tl.static_range(OUTPUTS):
            place = (network.to(tl.int64) * points + following) * OUTPUTS + c
            soon = soon + (tl.load(grad_pointer + place, mask=following < points, other=0.0),)  # noqa: RUF005
            grad += told[c] * weights[c]
        in_z, value, sums = differentiated(
            grad, z, nothing, constants, sums, False, True, TERMS, TRAINED, KIND, SLICE, COLUMNS
        )
        summed = (columns[0] + in_z,)
        for c in tl.static_range(OUTPUTS):
            summed = summed + (columns[c + 1] + told[c] * value,)  # noqa: RUF005
        columns = summed
        to = (network.to(tl.int64) * height + inside) * width + lane
        if SPLIT:
            high, low = encoded(in_z, SPLIT)
            tl.store(out_low_pointer + to, low, mask=left & (inside >= 0))
        else:
            high, low = encoded(in_z * factor, SPLIT)
            reach = reached(reach, in_z, SLICE, COLUMNS)
        tl.store(out_high_pointer + to, high, mask=left & (inside >= 0))
    if not SPLIT:
        tl.store(reach_pointer + tl.program_id(0), tl.max(reach))
    if TRAINED:
        keep_sums(sums, 1.0, partial_pointer, network, slot, slots, TERMS, SLICE * COLUMNS // 4)
    to = column_pointer + (tl.program_id(0) * SLICE + few) * ((OUTPUTS + 1) * width + OUTPUTS)
    for c in tl.static_range(OUTPUTS + 1):
        tl.store(to + c * width + lane, columns[c], mask=left)
    for c in tl.static_range(OUTPUTS):
        # Added up in the loop, these would be read again for another layout each time.
        inside = slot * SHARE + tl.arange(0, SHARE)
        place = (network.to(tl.int64) * points + inside) * OUTPUTS + c
        plain = tl.sum(tl.load(grad_pointer + place, mask=inside < points, other=0.0))
        tl.store(to + (OUTPUTS + 1) * width + c, tl.where(few == 0, plain, 0.0))
