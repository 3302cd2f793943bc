"""Device code of both ends of a sine network: coordinates to planes, and the output layer with the last sines."""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.sine_network.triton_gradient import slope_bound
from staf.ops.sine_network.triton_layer import encoded, inner_of_coordinates, scale_below
from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns


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
    COLUMNS: tl.constexpr,
):
    """Planes of rho(x W^T + b), padded rows included."""
    row = tl.program_id(0) * ROWS
    network = row // height
    inside = (row % height + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    z = inner_of_coordinates(x_pointer, weight_pointer, bias_pointer, network, inside, column, points, width, INPUTS)
    value = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in tl.static_range(TERMS):
        frequency = tl.load(frequency_pointer + network * TERMS + k)
        turn_high, turn_low, rest = turns(frequency, tl.load(phase_pointer + network * TERMS + k))
        amplitude = tl.load(amplitude_pointer + network * TERMS + k)
        value += amplitude * hardware_sine(reduced_angle(z, turn_high, turn_low, rest))
    high, low = encoded(value, SPLIT)
    to = (row + tl.arange(0, ROWS)).to(tl.int64)[:, None] * width + column
    left = (column < width) & (inside >= 0)
    tl.store(out_high_pointer + to, high, mask=left)
    if SPLIT:
        tl.store(out_low_pointer + to, low, mask=left)


@triton.jit
def output_kernel(
    partial_pointer,
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
            total += tl.load(partial_pointer + place, mask=exists, other=0.0)
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
    tiles,
    SPLIT: tl.constexpr,
    TERMS: tl.constexpr,
    TRAINED: tl.constexpr,
    OUTPUTS: tl.constexpr,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
):
    """(grad V) rho'(z) for the output layer's weights V (OUTPUTS, width): its planes, and all sums over points.

    A program takes PARTS rows at a time. A slot's sums are those of the sinusoids, and by column: of the result, for
    the last bias, then of rho(z) times each output's gradient, for V, then of the OUTPUTS gradients, for V's bias.
    Unless SPLIT, largest (networks,) holds the largest |grad|, and scale (3, networks) gets that of the result and the
    factor it is stored with, in its first and third rows.
    """
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    left = lanes < width
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    constants = ()
    sums = ()
    for k in tl.static_range(TERMS):
        amplitude = tl.load(amplitude_pointer + network * TERMS + k)
        frequency = tl.load(frequency_pointer + network * TERMS + k)
        phase = tl.load(phase_pointer + network * TERMS + k)
        constants = constants + (amplitude, frequency, phase, amplitude * frequency)  # noqa: RUF005
        sums = sums + (nothing, nothing, nothing)  # noqa: RUF005
    weights = ()
    columns = (nothing,)
    plain = ()
    for c in tl.static_range(OUTPUTS):
        weight = tl.load(output_pointer + (network * OUTPUTS + c) * width + lanes, mask=left, other=0.0)
        weights = weights + (weight,)  # noqa: RUF005
        columns = columns + (nothing,)  # noqa: RUF005
        plain = plain + (0.0,)  # noqa: RUF005
    if not SPLIT:
        heaviest = nothing
        for c in tl.static_range(OUTPUTS):
            heaviest += tl.abs(weights[c])
        steepest = slope_bound(amplitude_pointer, frequency_pointer, network, TERMS)
        scale = scale_below(tl.load(largest_pointer + network) * tl.max(heaviest), steepest)
        if slot == 0:
            tl.store(scale_pointer + 2 * networks + network, scale)
    reach = nothing
    for tile in range(tiles):
        start = (slot.to(tl.int64) * tiles + tile) * PARTS
        zs = ()
        grads = ()
        for part in tl.static_range(PARTS):
            row = start + part
            place = (network * height + row) * width + lanes
            zs = zs + (tl.load(inner_pointer + place, mask=left & (row < height), other=0.0),)  # noqa: RUF005
            for c in tl.static_range(OUTPUTS):
                place = (network * points + row) * OUTPUTS + c
                grads = grads + (tl.load(grad_pointer + place, mask=row < points, other=0.0),)  # noqa: RUF005
        for part in tl.static_range(PARTS):
            z = zs[part]
            grad = nothing
            for c in tl.static_range(OUTPUTS):
                grad += grads[part * OUTPUTS + c] * weights[c]
            scaled = grad * z
            slope = nothing
            value = nothing
            more = ()
            for k in tl.static_range(TERMS):
                angle = tl.fma(z, constants[4 * k + 1], constants[4 * k + 2])
                cosine = hardware_cosine(angle)
                sine = hardware_sine(angle)
                slope += constants[4 * k + 3] * cosine
                value += constants[4 * k] * sine
                if TRAINED:
                    more = more + (  # noqa: RUF005
                        sums[3 * k] + grad * sine,
                        sums[3 * k + 1] + scaled * cosine,
                        sums[3 * k + 2] + grad * cosine,
                    )
            if TRAINED:
                sums = more
            in_z = grad * slope
            summed = (columns[0] + in_z,)
            told = ()
            for c in tl.static_range(OUTPUTS):
                summed = summed + (columns[c + 1] + grads[part * OUTPUTS + c] * value,)  # noqa: RUF005
                told = told + (plain[c] + grads[part * OUTPUTS + c],)  # noqa: RUF005
            columns = summed
            plain = told
            row = start + part
            to = (network * height + row) * width + lanes
            if SPLIT:
                high, low = encoded(in_z, SPLIT)
                tl.store(out_low_pointer + to, low, mask=left & (row < height))
            else:
                high, low = encoded(in_z * scale, SPLIT)
                reach = tl.maximum(reach, tl.abs(in_z))
            tl.store(out_high_pointer + to, high, mask=left & (row < height))
    if not SPLIT:
        tl.atomic_max(scale_pointer + network, tl.max(reach))
    if TRAINED:
        kept = partial_pointer + network * 3 * TERMS * slots + slot
        for k in tl.static_range(TERMS):
            for which in tl.static_range(3):
                tl.store(kept + (which * TERMS + k) * slots, tl.sum(sums[3 * k + which]))
    to = column_pointer + tl.program_id(0).to(tl.int64) * ((OUTPUTS + 1) * width + OUTPUTS)
    for c in tl.static_range(OUTPUTS + 1):
        tl.store(to + c * width + lanes, columns[c], mask=left)
    for c in tl.static_range(OUTPUTS):
        tl.store(to + (OUTPUTS + 1) * width + c, plain[c])
