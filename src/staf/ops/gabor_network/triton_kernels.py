"""Device code of WIRE's network: wavelets of rows of numbers, and complex weights as real matrices.

Numbers are real and imaginary parts side by side. Tiles are ROWS x COLUMNS complex numbers of one network. Results are
float32, or planes of the 16-bit type that their memory has, as `products` describes them.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.gabor.triton import wavelet
from staf.ops.sine_network.triton_layer import encoded


@triton.jit
def _numbers(rows, exists, start, WIDTH: tl.constexpr, COLUMNS: tl.constexpr, COMPLEX: tl.constexpr):
    """Real and imaginary parts of a tile of numbers from column `start` on; `rows` are where its rows begin."""
    if COMPLEX:
        place = 2 * start + tl.arange(0, 2 * COLUMNS)[None, :]
        both = tl.load(rows + place, mask=exists & (place < 2 * WIDTH), other=0.0)
        u, v = tl.split(tl.reshape(both, (both.shape[0], COLUMNS, 2)))
    else:
        place = start + tl.arange(0, COLUMNS)[None, :]
        u = tl.load(rows + place, mask=exists & (place < WIDTH), other=0.0)
        v = tl.zeros_like(u)
    return u, v


@triton.jit
def _shift(pointer, network, start, SIZE: tl.constexpr, COLUMNS: tl.constexpr):
    """Real and imaginary parts of a bias, (1, COLUMNS) each; zero beyond its size."""
    place = 2 * start + tl.arange(0, 2 * COLUMNS)
    both = tl.load(pointer + network * 2 * SIZE + place, mask=place < 2 * SIZE, other=0.0)
    real, imaginary = tl.split(tl.reshape(both, (COLUMNS, 2)))
    return real[None, :], imaginary[None, :]


@triton.jit
def _inner(
    inner,
    shifts,
    network,
    exists,
    start,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    MAPS: tl.constexpr,
    COMPLEX: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """u + i v that the wavelet is of, and p + i q of its window, or zeros."""
    EACH: tl.constexpr = 2 * WIDTH if COMPLEX else WIDTH
    u, v = _numbers(inner, exists, start, WIDTH, COLUMNS, COMPLEX)
    p, q = tl.zeros_like(u), tl.zeros_like(u)
    if MAPS == 2:
        p, q = _numbers(inner + EACH, exists, start, WIDTH, COLUMNS, COMPLEX)
    if COMPLEX:
        real, imaginary = _shift(shifts[0], network, start, SIZE, COLUMNS)
        u += real
        v += imaginary
        if MAPS == 2:
            real, imaginary = _shift(shifts[1], network, start, SIZE, COLUMNS)
            p += real
            q += imaginary
    return u, v, p, q


@triton.jit
def _halves(value, like):
    """High and low part of float32 numbers, of the 16-bit type that `like` points to."""
    if like.dtype.element_ty == tl.bfloat16:
        high, low = encoded(value, True)
    else:
        high = value.to(tl.float16)
        low = (value - high.to(tl.float32)).to(tl.float16)
    return high, low


@triton.jit
def _keep(rows, exists, start, tile, ALL: tl.constexpr, LIMIT: tl.constexpr, PLANES: tl.constexpr):
    """Store a tile of real numbers from place `start` on, up to LIMIT; a plane has ALL numbers of a row."""
    place = start + tl.arange(0, tile.shape[1])[None, :]
    inside = exists & (place < LIMIT)
    if PLANES == 1:
        tl.store(rows + place, tile, mask=inside)
    else:
        high, low = _halves(tile, rows)
        tl.store(rows + place, high, mask=inside)
        tl.store(rows + ALL + place, low, mask=inside)
        if PLANES == 3:
            tl.store(rows + 2 * ALL + place, high, mask=inside)


@triton.jit
def value_kernel(
    inner_pointer,
    shifts,
    out_pointer,
    points,
    omega0,
    high,
    low,
    square,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    MAPS: tl.constexpr,
    COMPLEX: tl.constexpr,
    PLANES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """psi(inner + shift) of a tile: (networks, points, MAPS, WIDTH), COMPLEX or not, to (networks, points, WIDTH)."""
    STRIDE: tl.constexpr = MAPS * (2 * WIDTH if COMPLEX else WIDTH)
    OUT: tl.constexpr = 2 * WIDTH * PLANES
    BLOCKS: tl.constexpr = (WIDTH + COLUMNS - 1) // COLUMNS
    network = tl.program_id(1).to(tl.int64)
    start = tl.program_id(0) % BLOCKS * COLUMNS
    inside = (tl.program_id(0) // BLOCKS * ROWS + tl.arange(0, ROWS))[:, None]
    exists = inside < points
    row = network * points + inside
    u, v, p, q = _inner(
        inner_pointer + row * STRIDE, shifts, network, exists, start, SIZE, WIDTH, MAPS, COMPLEX, COLUMNS
    )
    real, imaginary = wavelet(u, v, p * p + q * q, omega0, high, low, square)
    _keep(out_pointer + row * OUT, exists, 2 * start, tl.interleave(real, imaginary), 2 * WIDTH, 2 * WIDTH, PLANES)


@triton.jit
def gradient_kernel(
    grad_pointer,
    inner_pointer,
    shifts,
    out_pointer,
    again_pointer,
    partial_pointer,
    points,
    share,
    slots,
    omega0,
    high,
    low,
    square,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    MAPS: tl.constexpr,
    COMPLEX: tl.constexpr,
    PLANES: tl.constexpr,
    AGAIN: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The gradient by inner, of the same shape as this, and its sums over a slot's rows, (networks, slots, columns).

    grad is (networks, points, WIDTH) complex numbers; a slot has `share` rows, a multiple of ROWS. Where AGAIN, two
    planes of the value are made as well.
    """
    EACH: tl.constexpr = 2 * WIDTH if COMPLEX else WIDTH
    STEP: tl.constexpr = 2 * COLUMNS if COMPLEX else COLUMNS
    ALL: tl.constexpr = MAPS * EACH
    OUT: tl.constexpr = ALL * PLANES
    network = tl.program_id(2).to(tl.int64)
    column = tl.program_id(0)
    start = column * COLUMNS
    first = tl.program_id(1) * share
    sums = tl.zeros((ROWS, STEP), dtype=tl.float32)
    window_sums = tl.zeros((ROWS, STEP), dtype=tl.float32)
    for begin in range(0, share, ROWS):
        inside = (first + begin + tl.arange(0, ROWS))[:, None]
        exists = inside < points
        row = network * points + inside
        u, v, p, q = _inner(
            inner_pointer + row * ALL, shifts, network, exists, start, SIZE, WIDTH, MAPS, COMPLEX, COLUMNS
        )
        grad_real, grad_imaginary = _numbers(grad_pointer + row * 2 * WIDTH, exists, start, WIDTH, COLUMNS, True)
        real, imaginary = wavelet(u, v, p * p + q * q, omega0, high, low, square)
        if AGAIN:
            to = again_pointer + row * 4 * WIDTH
            _keep(to, exists, 2 * start, tl.interleave(real, imaginary), 2 * WIDTH, 2 * WIDTH, 2)
        along = grad_real * real + grad_imaginary * imaginary
        turned = grad_imaginary * real - grad_real * imaginary
        narrow = -2.0 * square * along
        found = omega0 * turned + narrow * u
        if COMPLEX:
            found = tl.interleave(found, narrow * v - omega0 * along)
        out = out_pointer + row * OUT
        _keep(out, exists, column * STEP, found, ALL, EACH, PLANES)
        sums += found
        if MAPS == 2:
            found = narrow * p
            if COMPLEX:
                found = tl.interleave(found, narrow * q)
            _keep(out + EACH, exists, column * STEP, found, ALL, EACH, PLANES)
            window_sums += found
    place = column * STEP + tl.arange(0, STEP)
    to = partial_pointer + (network * slots + tl.program_id(1)) * ALL + place
    tl.store(to, tl.sum(sums, axis=0), mask=place < EACH)
    if MAPS == 2:
        tl.store(to + EACH, tl.sum(window_sums, axis=0), mask=place < EACH)


@triton.jit
def matrix_kernel(
    weights,
    out_pointer,
    networks,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    MAPS: tl.constexpr,
    LAYERS: tl.constexpr,
    PLANES: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Complex weights, a (networks, SIZE, SIZE) for each map of each layer, as real matrices.

    out is (LAYERS, networks, MAPS * 2 WIDTH, 2 WIDTH), or (LAYERS, networks, 2 WIDTH, MAPS * 2 WIDTH) where TRANSPOSED,
    with one or three PLANES in each row; three are high, high and low.
    """
    SIDE: tl.constexpr = 2 * WIDTH
    LONG: tl.constexpr = MAPS * SIDE if TRANSPOSED else SIDE
    network = (tl.program_id(1) % networks).to(tl.int64)
    which = tl.program_id(1) // networks
    layer, part = which // MAPS, which % MAPS
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # The place in the result, of which a part is a band of rows or, where TRANSPOSED, of columns.
    row, column = index // SIDE, index % SIDE
    to = row * LONG * PLANES + column
    to += part * SIDE if TRANSPOSED else part * SIDE * LONG * PLANES
    out_row, out_column = row, column
    if TRANSPOSED:
        out_row, out_column = column, row
    i, j = out_row // 2, out_column // 2
    odd, odd_column = out_row % 2, out_column % 2
    inside = (row < SIDE) & (i < SIZE) & (j < SIZE)
    at = ((network * SIZE + i) * SIZE + j) * 2 + tl.where(odd == odd_column, 0, 1)
    number = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in tl.static_range(LAYERS * MAPS):
        if which == k:
            number = tl.load(weights[k] + at, mask=inside, other=0.0)
    number = tl.where(odd < odd_column, -number, number)
    out = out_pointer + (layer * networks + network) * (MAPS * SIDE * SIDE * PLANES) + to
    if PLANES == 3:
        high, low = _halves(number, out_pointer)
        tl.store(out, high, mask=row < SIDE)
        tl.store(out + LONG, high, mask=row < SIDE)
        tl.store(out + 2 * LONG, low, mask=row < SIDE)
    else:
        tl.store(out, number, mask=row < SIDE)


@triton.jit
def fold_kernel(
    uppers,
    lowers,
    out_pointer,
    networks,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    MAPS: tl.constexpr,
    LAYERS: tl.constexpr,
    SPLIT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Gradients by complex weights, (LAYERS, MAPS, networks, SIZE, SIZE), of those by their real matrices.

    Where SPLIT, `uppers` have two matrices one below the other and `lowers` a third, which are added.
    """
    SIDE: tl.constexpr = 2 * WIDTH
    MATRIX: tl.constexpr = MAPS * SIDE * SIDE
    network = (tl.program_id(1) % networks).to(tl.int64)
    which = tl.program_id(1) // networks
    part = which % MAPS
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = index < SIZE * SIZE
    i, j = index // SIZE, index % SIZE
    # Of the block (a, -b; b, a): the places of the upper row, and of the lower one.
    pair = ((part * SIDE + 2 * i) * SIDE + 2 * j)[:, None] + tl.arange(0, 2)[None, :]
    above = tl.zeros((BLOCK, 2), dtype=tl.float32)
    below = tl.zeros((BLOCK, 2), dtype=tl.float32)
    for layer in tl.static_range(LAYERS):
        if which // MAPS == layer:
            upper = uppers[layer] + network * (2 * MATRIX if SPLIT else MATRIX)
            above = tl.load(upper + pair, mask=exists[:, None], other=0.0)
            below = tl.load(upper + pair + SIDE, mask=exists[:, None], other=0.0)
            if SPLIT:
                lower = lowers[layer] + network * MATRIX
                above += tl.load(upper + MATRIX + pair, mask=exists[:, None], other=0.0)
                below += tl.load(upper + MATRIX + pair + SIDE, mask=exists[:, None], other=0.0)
                above += tl.load(lower + pair, mask=exists[:, None], other=0.0)
                below += tl.load(lower + pair + SIDE, mask=exists[:, None], other=0.0)
    real, minus_imaginary = tl.split(above)
    imaginary, again = tl.split(below)
    both = tl.join(real + again, imaginary - minus_imaginary)
    out = out_pointer + (which * networks + network) * (2 * SIZE * SIZE) + 2 * index[:, None] + tl.arange(0, 2)[None, :]
    tl.store(out, both, mask=exists[:, None])
