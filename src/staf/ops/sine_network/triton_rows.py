"""Device code for few rows: a program takes its rows through all layers, in one launch.

A row needs no other row, so that nothing but the program itself waits between layers. Every program reads all weights,
which is worth while where there is about one program for each multiprocessor.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.pointwise_triton import derivative
from staf.ops.sine_network.triton_ends import first_rows
from staf.ops.sine_network.triton_layer import encoded, kept, plain_constants
from staf.ops.triton_early import begin
from staf.ops.triton_math import hardware_sine


@triton.jit
def rows_kernel(
    x_pointer,
    layers,
    weights_pointer,
    output_pointer,
    bias_pointer,
    plane_pointer,
    inner_pointer,
    out_pointer,
    points,
    height,
    networks,
    SPLIT: tl.constexpr,
    INPUTS: tl.constexpr,
    TERMS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    HIDDEN: tl.constexpr,
    PLANES: tl.constexpr,
    KEEP: tl.constexpr,
    KIND: tl.constexpr,
    ROWS: tl.constexpr,
    SLICE: tl.constexpr,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """The outputs of ROWS rows, and z of hidden layers where KEEP.

    `layers` are `tiles.Layer`s of TERMS terms; weights are (1 or 2, HIDDEN, networks, WIDTH, WIDTH), as numbers are
    stored (`triton_layer`). Activations go through planes (1 or 2, PLANES, rows, WIDTH), where the next layer finds
    them: those of all layers, or two in turns.
    """
    begin(EARLY)
    row = tl.program_id(0) * ROWS
    network = row // height
    few = tl.arange(0, ROWS)
    k = tl.arange(0, WIDTH)
    lane = tl.arange(0, COLUMNS)
    # Rows are few, so that all of this fits 32 bits.
    size = networks * height * WIDTH
    low_pointer = plane_pointer + PLANES * size
    square = networks * WIDTH * WIDTH
    first_rows(
        x_pointer,
        layers[0],
        (plane_pointer, low_pointer),
        points,
        height,
        WIDTH,
        SPLIT,
        INPUTS,
        TERMS,
        ROWS,
        SLICE,
        WIDTH,
        KIND,
    )
    shares = ()
    for _ in tl.static_range(OUTPUTS):
        shares = shares + (tl.zeros((ROWS,), dtype=tl.float32),)  # noqa: RUF005
    own = (row + few[:, None]) * WIDTH
    for index in tl.static_range(HIDDEN):
        _weight, shift_pointer, amplitude_pointer, frequency_pointer, phase_pointer = layers[index + 1]
        sines = ()
        for term in tl.static_range(TERMS):
            at = network * TERMS + term
            one = (tl.load(frequency_pointer + at), tl.load(phase_pointer + at), tl.load(amplitude_pointer + at))
            sines = sines + one
        # All of this program's threads have written the plane.
        tl.debug_barrier()
        source = (index % PLANES) * size + own + k[None, :]
        a = tl.load(plane_pointer + source)
        if SPLIT:
            a_rest = tl.load(low_pointer + source)
        matrix = weights_pointer + index * square + network * WIDTH * WIDTH
        for start in range(0, WIDTH, COLUMNS):
            column = start + lane
            b = tl.load(matrix + column[:, None] * WIDTH + k[None, :])
            shift = tl.load(shift_pointer + network * WIDTH + column)[None, :]
            z = tl.dot(a, b.T)
            if SPLIT:
                b_rest = tl.load(matrix + HIDDEN * square + column[:, None] * WIDTH + k[None, :])
                z = tl.dot(a_rest, b.T, z)
                z = tl.dot(a, b_rest.T, z)
            z += shift
            if KEEP:
                tl.store(inner_pointer + index * size + own + column[None, :], kept(z, SPLIT))
            if KIND > 0:
                constant, turn, rest = plain_constants(frequency_pointer, network)
                value = derivative(z, constant, turn, rest, KIND, 0)
            else:
                value = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
                for term in tl.static_range(TERMS):
                    angle = tl.fma(z, sines[3 * term], sines[3 * term + 1])
                    value += sines[3 * term + 2] * hardware_sine(angle)
            if index < HIDDEN - 1:
                high, low = encoded(value, SPLIT)
                to = ((index + 1) % PLANES) * size + own + column[None, :]
                tl.store(plane_pointer + to, high)
                if SPLIT:
                    tl.store(low_pointer + to, low)
            else:
                more = ()
                for c in tl.static_range(OUTPUTS):
                    weight = tl.load(output_pointer + (network * OUTPUTS + c) * WIDTH + column)
                    more = more + (shares[c] + tl.sum(value * weight[None, :], axis=1),)  # noqa: RUF005
                shares = more
    inside = row % height + few
    for c in tl.static_range(OUTPUTS):
        to = (network * points + inside) * OUTPUTS + c
        total = shares[c] + tl.load(bias_pointer + network * OUTPUTS + c)
        tl.store(out_pointer + to, total, mask=inside < points)
