"""Device code of both ends of a sine network: coordinates to planes, and the output layer with the last sines."""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.pointwise_triton import derivative
from staf.ops.sine_network.triton_gradient import differentiated, keep_sums, scale_below, steepest, terms, totals_of
from staf.ops.sine_network.triton_layer import coordinate, encoded
from staf.ops.triton_math import hardware_sine, reduced_angle


@triton.jit
def first_kernel(
    x_pointer,
    weight_pointer,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_high_pointer,
    out_low_pointer,
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
    """Planes of rho(x W^T + b), padded rows included; a program has ROWS rows of one network, SLICE at a time."""
    row = tl.program_id(0) * ROWS
    network = row // height
    column = tl.arange(0, COLUMNS)[None, :]
    left = column < width
    few = tl.arange(0, SLICE)[:, None]
    nothing = tl.zeros((SLICE, COLUMNS), dtype=tl.float32)
    constants = terms(amplitude_pointer, frequency_pointer, phase_pointer, network, True, TERMS)
    bias = tl.load(bias_pointer + network * width + column, mask=left, other=0.0) + nothing
    weights = ()
    for k in tl.static_range(INPUTS):
        at = (network * width + column) * INPUTS + k
        weights = weights + (tl.load(weight_pointer + at, mask=left, other=0.0) + nothing,)  # noqa: RUF005
    for start in range(0, ROWS, SLICE):
        inside = row % height + start + few
        z = bias
        for k in tl.static_range(INPUTS):
            z = tl.fma(coordinate(x_pointer, network, inside, points, k, INPUTS) + nothing, weights[k], z)
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
):
    """Add the shares of the tiles of columns, and the bias: (TILES, OUTPUTS, rows) to (networks, points, OUTPUTS)."""
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
def largest_kernel(x_pointer, out_pointer, elements, blocks, BLOCK: tl.constexpr):
    """The largest |x| of each network, where out is zero before."""
    network = (tl.program_id(0) // blocks).to(tl.int64)
    inside = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_pointer + network * elements + inside, mask=inside < elements, other=0.0)
    tl.atomic_max(out_pointer + network, tl.max(tl.abs(x)))


@triton.jit
def last_gradient_kernel(
    grad_pointer,
    inner_pointer,
    output_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_high_pointer,
    out_low_pointer,
    partial_pointer,
    column_pointer,
    largest_pointer,
    scale_pointer,
    points,
    height,
    width,
    networks,
    slots,
    share,
    SPLIT: tl.constexpr,
    TERMS: tl.constexpr,
    TRAINED: tl.constexpr,
    OUTPUTS: tl.constexpr,
    SLICE: tl.constexpr,
    COLUMNS: tl.constexpr,
    KIND: tl.constexpr,
):
    """(grad V) rho'(z) for the output layer's weights V (OUTPUTS, width): its planes, and all sums over points.

    A program has `share` rows, SLICE at a time. A slot's sums are those of the sinusoids, and by column: of the result,
    for the last bias, then of rho(z) times each output's gradient, for V, then of the OUTPUTS gradients, for V's bias.
    Unless SPLIT, largest (networks,) holds the largest |grad|, and scale (2, networks) gets that of the result and the
    factor it is stored with.
    """
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    lane = tl.arange(0, COLUMNS)[None, :]
    few = tl.arange(0, SLICE)[:, None]
    left = lane < width
    nothing = tl.zeros((SLICE, COLUMNS), dtype=tl.float32)
    constants = terms(amplitude_pointer, frequency_pointer, phase_pointer, network, KIND > 0, TERMS)
    sums = ()
    for _ in tl.static_range(3 * TERMS):
        sums = sums + (tl.zeros((SLICE, COLUMNS // 4), dtype=tl.float32),)  # noqa: RUF005
    weights = ()
    columns = (nothing,)
    plain = ()
    heaviest = tl.zeros((1, COLUMNS), dtype=tl.float32)
    for c in tl.static_range(OUTPUTS):
        weight = tl.load(output_pointer + (network * OUTPUTS + c) * width + lane, mask=left, other=0.0)
        heaviest += tl.abs(weight)
        weights = weights + (weight + nothing,)  # noqa: RUF005
        columns = columns + (nothing,)  # noqa: RUF005
        plain = plain + (tl.zeros((SLICE, 1), dtype=tl.float32),)  # noqa: RUF005
    factor = 1.0
    if not SPLIT:
        largest = tl.load(largest_pointer + network) * tl.max(heaviest)
        factor = scale_below(largest, steepest(constants, TERMS))
        if slot == 0:
            tl.store(scale_pointer + networks + network, factor)
    reach = nothing
    source = inner_pointer + network.to(tl.int64) * height * width
    later = tl.load(source + (slot * share + few) * width + lane, mask=left & (slot * share + few < height), other=0.0)
    for start in range(0, share, SLICE):
        z = later
        inside = slot * share + start + few
        following = inside + SLICE
        exists = left & (following < height)
        later = tl.load(source + following.to(tl.int64) * width + lane, mask=exists, other=0.0)
        grad = nothing
        told = ()
        for c in tl.static_range(OUTPUTS):
            place = (network.to(tl.int64) * points + inside) * OUTPUTS + c
            given = tl.load(grad_pointer + place, mask=inside < points, other=0.0)
            told = told + (given,)  # noqa: RUF005
            grad += given * weights[c]
        in_z, value, sums = differentiated(grad, z, constants, sums, False, True, TERMS, TRAINED, KIND, SLICE, COLUMNS)
        summed = (columns[0] + in_z,)
        added = ()
        for c in tl.static_range(OUTPUTS):
            summed = summed + (columns[c + 1] + told[c] * value,)  # noqa: RUF005
            added = added + (plain[c] + told[c],)  # noqa: RUF005
        columns = summed
        plain = added
        to = (network.to(tl.int64) * height + inside) * width + lane
        if SPLIT:
            high, low = encoded(in_z, SPLIT)
            tl.store(out_low_pointer + to, low, mask=left & (inside < height))
        else:
            high, low = encoded(in_z * factor, SPLIT)
            reach = tl.maximum(reach, tl.abs(in_z))
        tl.store(out_high_pointer + to, high, mask=left & (inside < height))
    if not SPLIT:
        tl.atomic_max(scale_pointer + network, tl.max(reach))
    if TRAINED:
        keep_sums(sums, partial_pointer, network, slot, slots, TERMS)
    to = column_pointer + tl.program_id(0) * ((OUTPUTS + 1) * width + OUTPUTS)
    column = tl.arange(0, COLUMNS)
    totals = totals_of(columns, 0, OUTPUTS + 1)
    for c in tl.static_range(OUTPUTS + 1):
        tl.store(to + c * width + column, totals[c], mask=column < width)
    totals = totals_of(plain, None, OUTPUTS)
    for c in tl.static_range(OUTPUTS):
        tl.store(to + (OUTPUTS + 1) * width + c, totals[c])
