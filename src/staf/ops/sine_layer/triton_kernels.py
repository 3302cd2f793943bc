"""Device code of the layer on coordinates: a number of the inner layer is computed wherever it is needed.

Backward, the numbers of a row are cut into PERIOD parts of BLOCK side by side, and a tile is PARTS of them, so that all
lanes of a part share a row's coordinates and lane l of part p belongs to column (p % PERIOD) BLOCK + l in every tile.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.sine_series.triton_shared import added, term
from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns


@triton.jit
def layer_value_kernel(
    x_pointer,
    weight_pointer,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_pointer,
    points,
    INPUTS: tl.constexpr,
    TERMS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    network = tl.program_id(1).to(tl.int64)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    nothing = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    inner = nothing + tl.load(bias_pointer + network * COLUMNS + column)
    for k in tl.static_range(INPUTS):
        x = tl.load(x_pointer + (network * points + row) * INPUTS + k, mask=row < points, other=0.0)
        weight = tl.load(weight_pointer + (network * COLUMNS + column) * INPUTS + k)
        inner = tl.fma(x + nothing, weight + nothing, inner)
    total = nothing
    for k in tl.static_range(TERMS):
        frequency = tl.load(frequency_pointer + network * TERMS + k)
        high, low, rest = turns(frequency, tl.load(phase_pointer + network * TERMS + k))
        amplitude = tl.load(amplitude_pointer + network * TERMS + k)
        total += amplitude * hardware_sine(reduced_angle(inner, high, low, rest))
    tl.store(out_pointer + (network * points + row) * COLUMNS + column, total, mask=row < points)


@triton.jit
def layer_gradients_kernel(
    grad_pointer,
    x_pointer,
    weight_pointer,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    partial_pointer,
    column_pointer,
    points,
    slots,
    tiles,
    INPUTS: tl.constexpr,
    TERMS: tl.constexpr,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
    PERIOD: tl.constexpr,
):
    """A slot's sums for the sinusoids, and by column for weights, input by input, and biases."""
    HEIGHT: tl.constexpr = PARTS // PERIOD
    WIDTH: tl.constexpr = PERIOD * BLOCK
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    constants = ()
    sums = ()
    for k in tl.static_range(TERMS):
        high, low, rest, steep = term(amplitude_pointer, frequency_pointer, phase_pointer, network * TERMS + k)
        constants = constants + (high, low, rest, steep)  # noqa: RUF005
        sums = sums + (nothing, nothing, nothing)  # noqa: RUF005
    weights = ()
    biases = ()
    columns = ()
    for part in tl.static_range(PERIOD):
        column = network * WIDTH + part * BLOCK + lanes
        biases = biases + (tl.load(bias_pointer + column),)  # noqa: RUF005
        columns = columns + (nothing,)  # noqa: RUF005
        for k in tl.static_range(INPUTS):
            weights = weights + (tl.load(weight_pointer + column * INPUTS + k),)  # noqa: RUF005
            columns = columns + (nothing,)  # noqa: RUF005
    for tile in range(tiles):
        first = (slot.to(tl.int64) * tiles + tile) * HEIGHT
        grads = ()
        xs = ()
        for part in tl.static_range(PARTS):
            row = first + part // PERIOD
            place = (network * points + row) * WIDTH + (part % PERIOD) * BLOCK + lanes
            grads = grads + (tl.load(grad_pointer + place, mask=(row < points) & (lanes >= 0), other=0.0),)  # noqa: RUF005
        for height in tl.static_range(HEIGHT):
            row = first + height
            for k in tl.static_range(INPUTS):
                coordinate = tl.load(x_pointer + (network * points + row) * INPUTS + k, mask=row < points, other=0.0)
                xs = xs + (coordinate,)  # noqa: RUF005
        for part in tl.static_range(PARTS):
            grad = grads[part]
            inner = biases[part % PERIOD]
            for k in tl.static_range(INPUTS):
                x = xs[(part // PERIOD) * INPUTS + k]
                inner = tl.fma(x + nothing, weights[(part % PERIOD) * INPUTS + k], inner)
            slope = nothing
            more = ()
            for k in tl.static_range(TERMS):
                angle = reduced_angle(inner, constants[4 * k], constants[4 * k + 1], constants[4 * k + 2])
                cosine = hardware_cosine(angle)
                weighted = grad * cosine
                slope += constants[4 * k + 3] * cosine
                more = more + (  # noqa: RUF005
                    sums[3 * k] + grad * hardware_sine(angle),
                    sums[3 * k + 1] + weighted * inner,
                    sums[3 * k + 2] + weighted,
                )
            sums = more
            in_inner = grad * slope
            for k in tl.static_range(INPUTS):
                x = xs[(part // PERIOD) * INPUTS + k]
                columns = added(columns, k * PERIOD + part % PERIOD, in_inner * x, (INPUTS + 1) * PERIOD)
            columns = added(columns, INPUTS * PERIOD + part % PERIOD, in_inner, (INPUTS + 1) * PERIOD)
    kept = partial_pointer + network * 3 * TERMS * slots + slot
    for k in tl.static_range(TERMS):
        for which in tl.static_range(3):
            tl.store(kept + (which * TERMS + k) * slots, tl.sum(sums[3 * k + which]))
    for part in tl.static_range((INPUTS + 1) * PERIOD):
        to = (tl.program_id(0).to(tl.int64) * (INPUTS + 1) * PERIOD + part) * BLOCK + lanes
        tl.store(column_pointer + to, columns[part])
