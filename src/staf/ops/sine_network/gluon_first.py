"""Device code of the first layer for many rows: `triton_ends.first_kernel`, where a thread keeps four neighbours.

Triton computes each number where it has read its weights, and hands it to another thread to be stored.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from staf.ops.sine_network.triton_gradient import terms
from staf.ops.sine_network.triton_layer import coordinate, encoded
from staf.ops.triton_math import hardware_sine, reduced_angle


@gluon.jit
def shared_first_kernel(
    x_pointer,
    layer,
    out,
    points,
    height,
    width,
    SPLIT: gl.constexpr,
    INPUTS: gl.constexpr,
    TERMS: gl.constexpr,
    ROWS: gl.constexpr,
    COLUMNS: gl.constexpr,
):
    """Planes of rho(x W^T + b), padded rows included; a program of 4 warps has ROWS rows of one network."""
    SLICE: gl.constexpr = 512 // COLUMNS
    SPREAD: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [SLICE, 4 // SLICE], [1, 0])
    row = gl.program_id(0) * ROWS
    network = row // height
    lane = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, SPREAD))[None, :]
    few = gl.arange(0, SLICE, layout=gl.SliceLayout(1, SPREAD))[:, None]
    nothing = gl.zeros([SLICE, COLUMNS], gl.float32, SPREAD)
    constants = terms(layer, network, True, TERMS)
    weight_pointer, bias_pointer = layer[0], layer[1]
    out_high_pointer, out_low_pointer = out
    bias = gl.load(bias_pointer + network * width + lane) + nothing
    weights = ()
    for k in gl.static_range(INPUTS):
        weights = weights + (gl.load(weight_pointer + (network * width + lane) * INPUTS + k) + nothing,)  # noqa: RUF005
    for start in range(0, ROWS, SLICE):
        z = bias
        for k in gl.static_range(INPUTS):
            x = coordinate(x_pointer, network, row % height + start + few, points, k, INPUTS)
            z = gl.fma(x + nothing, weights[k], z)
        value = nothing
        for k in gl.static_range(TERMS):
            angle = reduced_angle(z, constants[5 * k + 2], constants[5 * k + 3], constants[5 * k + 4])
            value = gl.fma(hardware_sine(angle), constants[5 * k], value)
        high, low = encoded(value, SPLIT)
        to = (row + start + few).to(gl.int64) * width + lane
        gl.store(out_high_pointer + to, high)
        if SPLIT:
            gl.store(out_low_pointer + to, low)
