"""Device code of hidden sine layers for many rows: `triton_layer`, by products of `gluon_tiles`."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from staf.ops.sine_network.gluon_tiles import COLUMNS, HALF, ROWS, SLICE, SPREAD, begun, ended, first_tile
from staf.ops.sine_network.triton_layer import encoded, kept
from staf.ops.triton_early import begin
from staf.ops.triton_math import hardware_sine


@gluon.jit
def _activate(
    place,
    part,
    row,
    first,
    rows,
    width,
    bias,
    constants,
    outputs,
    inner_pointer,
    out_high_pointer,
    out_low_pointer,
    share_pointer,
    SPLIT: gl.constexpr,
    TERMS: gl.constexpr,
    OUTPUTS: gl.constexpr,
    KEEP: gl.constexpr,
):
    """SLICE rows of a tile: z where KEEP, and rho(z) or its products with the output layer's weights."""
    lane = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SPREAD))[None, :]
    tall = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD)) + row + part * SLICE
    z = place.index(part).load(SPREAD) + bias
    to = tall[:, None].to(gl.int64) * width + first + lane
    if KEEP:
        gl.store(inner_pointer + to, kept(z, SPLIT))
    value = gl.zeros([SLICE, COLUMNS], gl.float32, SPREAD)
    for k in gl.static_range(TERMS):
        value += constants[3 * k] * hardware_sine(gl.fma(z, constants[3 * k + 1], constants[3 * k + 2]))
    if OUTPUTS == 0:
        high, low = encoded(value, SPLIT)
        gl.store(out_high_pointer + to, high)
        if SPLIT:
            gl.store(out_low_pointer + to, low)
    for c in gl.static_range(OUTPUTS):
        share = (first // COLUMNS * OUTPUTS + c).to(gl.int64) * rows
        gl.store(share_pointer + share + tall, gl.sum(value * outputs[c], axis=1))


@gluon.jit
def shared_layer_kernel(
    a_high,
    a_low,
    b_high,
    b_low,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    output_pointer,
    inner_pointer,
    out_high_pointer,
    out_low_pointer,
    share_pointer,
    rows,
    height,
    width,
    slots,
    SPLIT: gl.constexpr,
    TERMS: gl.constexpr,
    OUTPUTS: gl.constexpr,
    KEEP: gl.constexpr,
    WIDTH: gl.constexpr,
    EARLY: gl.constexpr = False,
):
    """`triton_layer.layer_kernel` of a sine series; a network has `slots` programs, a multiple of the tiles across."""
    begin(EARLY)
    across = width // COLUMNS
    slot = gl.program_id(0) % slots
    network = gl.program_id(0) // slots
    first = slot % across * COLUMNS
    tiles = height // ROWS
    step = slots // across
    start = slot // across
    first_row = network * height
    operands, ready, weights, place = first_tile(
        a_high,
        a_low,
        b_high,
        b_low,
        network * width + first,
        first_row + start * ROWS,
        step,
        start < tiles,
        start + step < tiles,
        SPLIT,
        WIDTH,
    )
    lane = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SPREAD))[None, :]
    nothing = gl.zeros([SLICE, COLUMNS], gl.float32, SPREAD)
    bias = gl.load(bias_pointer + network * width + first + lane) + nothing
    constants = ()
    for k in gl.static_range(TERMS):
        amplitude = gl.load(amplitude_pointer + network * TERMS + k)
        frequency = gl.load(frequency_pointer + network * TERMS + k)
        constants = constants + (amplitude, frequency, gl.load(phase_pointer + network * TERMS + k))  # noqa: RUF005
    outputs = ()
    for c in gl.static_range(OUTPUTS):
        at = (network * OUTPUTS + c) * width + first + lane
        outputs = outputs + (gl.load(output_pointer + at) + nothing,)  # noqa: RUF005
    phase = 1
    for tile in range(start, tiles, step):
        row = first_row + tile * ROWS
        for part in range(HALF):
            _activate(
                *(place, part, row, first, rows, width, bias, constants, outputs),
                *(inner_pointer, out_high_pointer, out_low_pointer, share_pointer),
                *(SPLIT, TERMS, OUTPUTS, KEEP),
            )
        mbarrier.wait(ready, phase, pred=tile + step < tiles)
        total = begun(operands, weights, SPLIT, WIDTH)
        for part in range(HALF, 2 * HALF):
            _activate(
                *(place, part, row, first, rows, width, bias, constants, outputs),
                *(inner_pointer, out_high_pointer, out_low_pointer, share_pointer),
                *(SPLIT, TERMS, OUTPUTS, KEEP),
            )
        later = tile + 2 * step
        ended(total, place, a_high, a_low, first_row + later * ROWS, later < tiles, operands, ready, SPLIT, WIDTH)
        phase = phase ^ 1
