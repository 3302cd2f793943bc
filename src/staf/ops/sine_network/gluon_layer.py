"""Device code of hidden sine layers for many rows: `triton_layer`, by products of `gluon_tiles`."""

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
from staf.ops.sine_network.triton_layer import encoded, kept
from staf.ops.triton_math import hardware_sine


@gluon.jit
def _activate(
    place,
    barriers,
    work,
    rows,
    width,
    layer,
    output_pointer,
    inner_pointer,
    out,
    share_pointer,
    SPLIT: gl.constexpr,
    TERMS: gl.constexpr,
    OUTPUTS: gl.constexpr,
    KEEP: gl.constexpr,
    STAGES: gl.constexpr,
):
    """The work of the warps that compute sines: one product after the other."""
    network, first, _slot, _slots, first_row, start, tiles, step = work
    _weight, bias_pointer, amplitude_pointer, frequency_pointer, phase_pointer = layer
    out_high_pointer, out_low_pointer = out
    lane = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SPREAD))[None, :]
    few = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD))
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
    stage = 0
    phase = 0
    for tile in range(start, tiles, step):
        mbarrier.wait(barriers.index(FULL + stage), phase)
        for part in gl.static_range(PARTS):
            z = taken(place, barriers, stage, part, STAGES) + bias
            tall = first_row + tile * ROWS + part * SLICE + few
            to = tall[:, None].to(gl.int64) * width + first + lane
            if KEEP:
                gl.store(inner_pointer + to, kept(z, SPLIT))
            value = nothing
            for k in gl.static_range(TERMS):
                sine = hardware_sine(gl.fma(z, constants[3 * k + 1], constants[3 * k + 2]))
                value = gl.fma(sine, constants[3 * k], value)
            if OUTPUTS == 0:
                high, low = encoded(value, SPLIT)
                gl.store(out_high_pointer + to, high)
                if SPLIT:
                    gl.store(out_low_pointer + to, low)
            for c in gl.static_range(OUTPUTS):
                share = (first // COLUMNS * OUTPUTS + c).to(gl.int64) * rows
                # Rounded by itself, a product is the same whatever the compiler makes of the rest.
                gl.store(share_pointer + share + tall, gl.sum(gl.fma(value, outputs[c], nothing), axis=1))
        released(barriers, stage, STAGES)
        stage, phase = following(stage, phase, STAGES)


@gluon.jit
def shared_layer_kernel(
    a_high,
    a_low,
    b_high,
    b_low,
    layer,
    output_pointer,
    inner_pointer,
    out,
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
):
    """`triton_layer.layer_kernel` of a sine series; a network has `slots` programs, a multiple of the tiles across."""
    work = work_of_program(slots, height, width)
    operands, weights, place, barriers = shared_memory(a_high, b_high, SPLIT, WIDTH)
    # A tuple with a name would have no constants.
    gl.warp_specialize(
        [
            (
                _activate,
                (
                    place,
                    barriers,
                    work,
                    rows,
                    width,
                    layer,
                    output_pointer,
                    inner_pointer,
                    out,
                    share_pointer,
                    SPLIT,
                    TERMS,
                    OUTPUTS,
                    KEEP,
                    stages(SPLIT, WIDTH),
                ),
            ),
            (
                multiply,
                (
                    a_high,
                    a_low,
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
