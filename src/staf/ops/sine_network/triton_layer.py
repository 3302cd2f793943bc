"""Device code of hidden sine layers: a product of 16-bit operands with the sine series in its epilogue.

SPLIT: a number is two bfloat16 planes, high and low, four bytes together, and a product is three dots, high high +
low high + high low, summed in float32. Otherwise a number is one float16, gradients times a power of two.

Tiles are ROWS x COLUMNS. Rows of several networks lie one after the other, each network padded to `height`, a multiple
of ROWS, so that a tile is full and of one network; the width is a multiple of COLUMNS and DEPTH. Gradients of padded
rows are zero. Two programs share a multiprocessor, so that one can multiply while the other computes sines.

KIND is 0 for a sine series, and otherwise one of `pointwise_triton.KINDS`, whose constant lies where the first
frequency does.

Angles of a series are not reduced before the hardware sine here: its relative error in the angle, 1.4e-7, is a
thirtieth of what the product of split operands leaves in the number that the angle is made of.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.pointwise_triton import derivative
from staf.ops.triton_early import begin
from staf.ops.triton_math import hardware_sine, turns


@triton.jit
def encoded(value, SPLIT: tl.constexpr):
    """The planes of a tile: the nearest bfloat16, by integer arithmetic (conversions share the sines' unit), and the
    rest; or a float16, twice.
    """
    if SPLIT:
        bits = value.to(tl.int32, bitcast=True)
        nearest = ((bits + 0x8000) & -0x10000).to(tl.float32, bitcast=True)
        high = nearest.to(tl.bfloat16)
        low = (value - nearest).to(tl.bfloat16)
    else:
        high = value.to(tl.float16)
        low = high
    return high, low


@triton.jit
def kept(z, SPLIT: tl.constexpr):
    """z as it is kept for the gradients: itself, or the nearest finite float16."""
    if SPLIT:
        result = z
    else:
        result = tl.clamp(z, -65504.0, 65504.0, tl.PropagateNan.ALL).to(tl.float16)
    return result


@triton.jit
def product(
    a_high,
    a_low,
    b_high,
    b_low,
    row,
    column,
    width,
    SPLIT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """sum_k a[row + m, k] b[column + n, k]."""
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for k in range(0, width, DEPTH):
        a = a_high.load([row, k])
        b = b_high.load([column, k])
        total = tl.dot(a, b.T, total)
        if SPLIT:
            a_rest = a_low.load([row, k])
            b_rest = b_low.load([column, k])
            total = tl.dot(a_rest, b.T, total)
            total = tl.dot(a, b_rest.T, total)
    return total


@triton.jit
def pieces(tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PIECES: tl.constexpr):
    """The tile as a tuple of narrower ones, so that the epilogue needs fewer registers at a time."""
    if PIECES == 1:
        result = (tile,)
    else:
        left, right = tl.split(tl.permute(tl.reshape(tile, (ROWS, 2, COLUMNS // 2)), (0, 2, 1)))
        result = pieces(left, ROWS, COLUMNS // 2, PIECES // 2) + pieces(right, ROWS, COLUMNS // 2, PIECES // 2)
    return result


@triton.jit
def sines_of(layer, network, TERMS: tl.constexpr):
    """Frequency, phase and amplitude of each term of a layer, a `tiles.Layer`."""
    found = ()
    for k in tl.static_range(TERMS):
        at = network * TERMS + k
        one = (tl.load(layer[3] + at), tl.load(layer[4] + at), tl.load(layer[2] + at))
        found = found + one
    return found


@triton.jit
def keep_tile(to, row, column, width, tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DIRECT: tl.constexpr):
    """Store a tile by the copy engine, which is waited for, or, where DIRECT, by the threads, which go on at once."""
    if DIRECT:
        place = (row + tl.arange(0, ROWS))[:, None] * width + column + tl.arange(0, COLUMNS)[None, :]
        tl.store(to + place, tile)
    else:
        to.store([row, column], tile)


@triton.jit
def plain_constants(frequency_pointer, network):
    """What `derivative` needs of a fixed activation: its constant, and that in turns."""
    constant = tl.load(frequency_pointer + network)
    high, low, _rest = turns(constant, constant * 0.0)
    return constant, high, low


@triton.jit
def layer_kernel(
    a_high,
    a_low,
    b_high,
    b_low,
    layer,
    output_pointer,
    inner,
    out_high,
    out_low,
    share_pointer,
    results,
    points,
    rows,
    height,
    width,
    SPLIT: tl.constexpr,
    TERMS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    KEEP: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    PIECES: tl.constexpr,
    KIND: tl.constexpr,
    DIRECT: tl.constexpr,
    TILES: tl.constexpr,
    ADDED: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """z = a b^T + bias, which is kept where KEEP; then planes of rho(z), or, where there are OUTPUTS, their products
    with the output layer's weights, a share for each tile of columns: (tiles of columns, OUTPUTS, rows).

    Where ADDED, the program that ends last among those of the same rows adds up the shares: `results` are a counter
    for each tile of rows, which is zero, the output layer's biases, and where the values go.
    """
    begin(EARLY)
    bias_pointer, frequency_pointer = layer[1], layer[3]
    SPAN: tl.constexpr = COLUMNS // PIECES
    row = (tl.program_id(0) // TILES) * ROWS
    first = (tl.program_id(0) % TILES) * COLUMNS
    network = row // height
    # Few rows have registers to spare, and ask for these beside the product.
    biases = ()
    sines = ()
    if DIRECT:
        sines = sines_of(layer, network, TERMS)
        for piece in tl.static_range(PIECES):
            column = first + piece * SPAN + tl.arange(0, SPAN)
            biases = biases + (tl.load(bias_pointer + network * width + column)[None, :],)  # noqa: RUF005
    total = product(a_high, a_low, b_high, b_low, row, network * width + first, width, SPLIT, ROWS, COLUMNS, DEPTH)
    parts = pieces(total, ROWS, COLUMNS, PIECES)
    shares = ()
    for _ in tl.static_range(OUTPUTS):
        shares = shares + (tl.zeros((ROWS,), dtype=tl.float32),)  # noqa: RUF005
    for piece in tl.static_range(PIECES):
        start = first + piece * SPAN
        column = start + tl.arange(0, SPAN)
        if DIRECT:
            z = parts[piece] + biases[piece]
        else:
            sines = sines_of(layer, network, TERMS)
            z = parts[piece] + tl.load(bias_pointer + network * width + column)[None, :]
        if KEEP:
            keep_tile(inner, row, start, width, kept(z, SPLIT), ROWS, SPAN, DIRECT)
        if KIND > 0:
            constant, turn, rest = plain_constants(frequency_pointer, network)
            value = derivative(z, constant, turn, rest, KIND, 0)
        else:
            value = tl.zeros((ROWS, SPAN), dtype=tl.float32)
            for k in tl.static_range(TERMS):
                value += sines[3 * k + 2] * hardware_sine(tl.fma(z, sines[3 * k], sines[3 * k + 1]))
        if OUTPUTS == 0:
            high, low = encoded(value, SPLIT)
            keep_tile(out_high, row, start, width, high, ROWS, SPAN, DIRECT)
            if SPLIT:
                keep_tile(out_low, row, start, width, low, ROWS, SPAN, DIRECT)
        more = ()
        for c in tl.static_range(OUTPUTS):
            weight = tl.load(output_pointer + (network * OUTPUTS + c) * width + column)
            more = more + (shares[c] + tl.sum(value * weight[None, :], axis=1),)  # noqa: RUF005
        shares = more
    for c in tl.static_range(OUTPUTS):
        to = ((tl.program_id(0) % TILES) * OUTPUTS + c).to(tl.int64) * rows + row + tl.arange(0, ROWS)
        tl.store(share_pointer + to, shares[c])
    if ADDED:
        counter_pointer, output_bias_pointer, result_pointer = results
        # Every thread has stored its shares before they are counted.
        tl.debug_barrier()
        if tl.atomic_add(counter_pointer + tl.program_id(0) // TILES, 1) == TILES - 1:
            bias = output_bias_pointer + network * OUTPUTS
            result = result_pointer + network.to(tl.int64) * points * OUTPUTS
            _add_shares(share_pointer, bias, result, row, row % height, points, rows, TILES, OUTPUTS, ROWS)


@triton.jit
def _add_shares(
    share_pointer,
    bias_pointer,
    result_pointer,
    row,
    first,
    points,
    rows,
    TILES: tl.constexpr,
    OUTPUTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The values of ROWS rows from their shares, in the order of the tiles; `first` is their place in the network."""
    lane = tl.arange(0, ROWS)
    shares = ()
    # All are asked for at once, and not in this multiprocessor's own cache: others have written them.
    for k in tl.static_range(TILES * OUTPUTS):
        shares = shares + (tl.load(share_pointer + k * rows + row + lane, cache_modifier=".cg"),)  # noqa: RUF005
    for c in tl.static_range(OUTPUTS):
        total = tl.zeros((ROWS,), dtype=tl.float32) + tl.load(bias_pointer + c)
        for tile in tl.static_range(TILES):
            total += shares[tile * OUTPUTS + c]
        tl.store(result_pointer + (first + lane) * OUTPUTS + c, total, mask=first + lane < points)


@triton.jit
def coordinate(x_pointer, network, inside, points, k, INPUTS: tl.constexpr):
    """Coordinate k of some rows of a network; zero for padded rows."""
    place = (network.to(tl.int64) * points + inside) * INPUTS + k
    return tl.load(x_pointer + place, mask=inside < points, other=0.0)
