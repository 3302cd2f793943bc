"""Linear layers on CUDA in float32: products of split operands, weight and bias sums in one pass, exact first layers.

Shapes carry a leading axis of networks. Sums over points are made in two stages, slots first and then their results in
order: the same bits in every run, no atomics. Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional

from staf.ops.linear.autograd import COORDINATES

# Tiles and warps chosen by timing on an H200. Products: rows, columns, depth, warps, stages; for few points, for many,
# and for an output layer's few columns. Sums: columns, depth, rows, warps, stages; and for few columns.
PRODUCT_TILES = ((64, 64, 64, 4, 3), (64, 128, 32, 4, 3), (128, 16, 64, 4, 3))
SUMS_TILES = ((64, 128, 32, 4, 3), (16, 128, 64, 4, 3))
FEW_POINTS = 16_384
FEW_COLUMNS = 16
COORDINATE_ROWS = 32
# Up to this many coordinates all sums of the first layer are made in one reading of the gradient.
TOGETHER = 3


@triton.jit
def _product_kernel(
    a_pointer,
    b_pointer,
    bias_pointer,
    out_pointer,
    rows,
    columns,
    depth,
    a_network,
    a_row,
    a_depth,
    b_network,
    b_column,
    b_depth,
    bias_network,
    BIAS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """out[m, n] = sum_k a[m, k] b[n, k] + bias[n]."""
    network = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.arange(0, DEPTH)
    a = a_pointer + network * a_network + row[:, None].to(tl.int64) * a_row + k[None, :] * a_depth
    b = b_pointer + network * b_network + column[None, :] * b_column + k[:, None] * b_depth
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, depth, DEPTH):
        left = start + k < depth
        a_tile = tl.load(a, mask=(row[:, None] < rows) & left[None, :], other=0.0)
        b_tile = tl.load(b, mask=(column[None, :] < columns) & left[:, None], other=0.0)
        total = tl.dot(a_tile, b_tile, total, input_precision=PRECISION)
        a += DEPTH * a_depth
        b += DEPTH * b_depth
    if BIAS:
        total += tl.load(bias_pointer + network * bias_network + column, mask=column < columns, other=0.0)[None, :]
    out = out_pointer + (network * rows + row[:, None]) * columns + column[None, :]
    tl.store(out, total, mask=(row[:, None] < rows) & (column[None, :] < columns))


@triton.jit
def _sums_kernel(
    g_pointer,
    a_pointer,
    partial_pointer,
    bias_pointer,
    rows,
    columns,
    depth,
    share,
    g_network,
    g_row,
    g_column,
    a_network,
    a_row,
    a_depth,
    slots,
    PRECISION: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Partial sums over this slot's rows: of g[m, n] a[m, k] and, by the first programs, of g[m, n]."""
    slot = tl.program_id(2) % slots
    network = (tl.program_id(2) // slots).to(tl.int64)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.program_id(1) * DEPTH + tl.arange(0, DEPTH)
    first = slot.to(tl.int64) * share
    row = first + tl.arange(0, ROWS)
    g = g_pointer + network * g_network + column[:, None] * g_column
    a = a_pointer + network * a_network + k[None, :] * a_depth
    total = tl.zeros((COLUMNS, DEPTH), dtype=tl.float32)
    plain = tl.zeros((COLUMNS,), dtype=tl.float32)
    for start in range(0, share, ROWS):
        here = row + start
        exists = (here < rows) & (start + tl.arange(0, ROWS) < share)
        g_tile = tl.load(g + here[None, :] * g_row, mask=exists[None, :] & (column[:, None] < columns), other=0.0)
        a_tile = tl.load(a + here[:, None] * a_row, mask=exists[:, None] & (k[None, :] < depth), other=0.0)
        total = tl.dot(g_tile, a_tile, total, input_precision=PRECISION)
        plain += tl.sum(g_tile, axis=1)
    place = (network * slots + slot) * columns + column
    inside = (column[:, None] < columns) & (k[None, :] < depth)
    tl.store(partial_pointer + place[:, None] * depth + k[None, :], total, mask=inside)
    if tl.program_id(1) == 0:
        tl.store(bias_pointer + place, plain, mask=column < columns)


@triton.jit
def _finish_kernel(partial_pointer, bias_pointer, out_pointer, size, columns, slots, BLOCK: tl.constexpr):
    """Add the slots in order; the bias sums follow the weight sums in one output."""
    network = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    weight = place < size
    bias = (place >= size) & (place < size + columns)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for slot in range(slots):
        start = network * slots + slot
        total += tl.load(partial_pointer + start * size + place, mask=weight, other=0.0)
        total += tl.load(bias_pointer + start * columns + place - size, mask=bias, other=0.0)
    tl.store(out_pointer + network * (size + columns) + place, total, mask=weight | bias)


@triton.jit
def _narrow_kernel(
    a_pointer,
    b_pointer,
    bias_pointer,
    out_pointer,
    rows,
    columns,
    a_network,
    a_row,
    a_depth,
    b_network,
    b_column,
    b_depth,
    bias_network,
    BIAS: tl.constexpr,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The product for a few coordinates: multiply-adds in float32, no matrix unit."""
    network = tl.program_id(2).to(tl.int64)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    if BIAS:
        total += tl.load(bias_pointer + network * bias_network + column, mask=column < columns, other=0.0)
    for k in tl.static_range(DEPTH):
        a = tl.load(
            a_pointer + network * a_network + row.to(tl.int64) * a_row + k * a_depth, mask=row < rows, other=0.0
        )
        b = tl.load(b_pointer + network * b_network + column * b_column + k * b_depth, mask=column < columns, other=0.0)
        total = tl.fma(a + tl.zeros_like(total), b + tl.zeros_like(total), total)
    out = out_pointer + (network * rows + row) * columns + column
    tl.store(out, total, mask=(row < rows) & (column < columns))


@triton.jit
def _narrow_sums_kernel(
    g_pointer,
    a_pointer,
    partial_pointer,
    bias_pointer,
    rows,
    columns,
    share,
    g_network,
    g_row,
    g_column,
    a_network,
    a_row,
    a_depth,
    slots,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """One sum over the slot's rows: of g (the last program) or of g times one coordinate; g is re-read from cache."""
    slot = tl.program_id(2) % slots
    network = (tl.program_id(2) // slots).to(tl.int64)
    which = tl.program_id(1)
    column = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, share, ROWS):
        inside = start + tl.arange(0, ROWS)[:, None]
        row = slot.to(tl.int64) * share + inside
        exists = (row < rows) & (inside < share)
        g = tl.load(
            g_pointer + network * g_network + row * g_row + column * g_column,
            mask=exists & (column < columns),
            other=0.0,
        )
        a = tl.load(
            a_pointer + network * a_network + row * a_row + which * a_depth, mask=exists & (which < DEPTH), other=1.0
        )
        total += g * a
    summed = tl.sum(total, axis=0)[None, :]
    place = (network * slots + slot) * columns + column
    if which == DEPTH:
        tl.store(bias_pointer + place, summed, mask=column < columns)
    else:
        tl.store(partial_pointer + place * DEPTH + which, summed, mask=column < columns)


@contextlib.contextmanager
def _library_precision(precision: str) -> Iterator[None]:
    """cuBLAS reads this flag when a product is launched; it is put back at once."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@triton.jit
def _coordinate_sums_kernel(
    g_pointer,
    a_pointer,
    partial_pointer,
    bias_pointer,
    rows,
    columns,
    share,
    g_network,
    g_row,
    g_column,
    a_network,
    a_row,
    a_depth,
    slots,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """All sums of up to three coordinates over the slot's rows, reading g once."""
    slot = tl.program_id(1) % slots
    network = (tl.program_id(1) // slots).to(tl.int64)
    column = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    plain = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    first = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    second = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    third = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, share, ROWS):
        inside = start + tl.arange(0, ROWS)[:, None]
        row = slot.to(tl.int64) * share + inside
        exists = (row < rows) & (inside < share)
        g_place = g_pointer + network * g_network + row * g_row + column * g_column
        g = tl.load(g_place, mask=exists & (column < columns), other=0.0)
        a = a_pointer + network * a_network + row * a_row
        plain += g
        if DEPTH > 0:
            first += g * tl.load(a, mask=exists, other=0.0)
        if DEPTH > 1:
            second += g * tl.load(a + a_depth, mask=exists, other=0.0)
        if DEPTH > 2:
            third += g * tl.load(a + 2 * a_depth, mask=exists, other=0.0)
    place = (network * slots + slot) * columns + column
    left = column < columns
    tl.store(bias_pointer + place, tl.sum(plain, axis=0)[None, :], mask=left)
    if DEPTH > 0:
        tl.store(partial_pointer + place * DEPTH, tl.sum(first, axis=0)[None, :], mask=left)
    if DEPTH > 1:
        tl.store(partial_pointer + place * DEPTH + 1, tl.sum(second, axis=0)[None, :], mask=left)
    if DEPTH > 2:
        tl.store(partial_pointer + place * DEPTH + 2, tl.sum(third, axis=0)[None, :], mask=left)


def _library_product(a: Tensor, b: Tensor, bias: Tensor | None, precision: str) -> Tensor:
    with _library_precision(precision):
        if len(a) == 1:
            return functional.linear(a[0], b[0], None if bias is None else bias[0])[None]
        return torch.bmm(a, b.mT) if bias is None else torch.baddbmm(bias[:, None], a, b.mT)


def product(a: Tensor, b: Tensor, bias: Tensor | None, precision: str) -> Tensor:
    """(networks, m, k) and (networks, n, k), both strided as they are, to (networks, m, n)."""
    networks, rows, depth = a.shape
    columns = b.shape[1]
    out = torch.empty(networks, rows, columns, device=a.device, dtype=a.dtype)
    if out.numel() == 0:
        return out
    strides = (*a.stride(), *b.stride(), bias.stride(0) if bias is not None else 0)
    given = bias is not None
    if depth <= COORDINATES:
        tile = (COORDINATE_ROWS, 256)
        grid = (triton.cdiv(rows, tile[0]), triton.cdiv(columns, tile[1]), networks)
        _narrow_kernel[grid](
            a, b, bias, out, rows, columns, *strides, BIAS=given, DEPTH=depth, ROWS=tile[0], COLUMNS=tile[1]
        )
        return out
    if precision != "bf16x3":
        return _library_product(a, b, bias, precision)
    height, width, deep, warps, stages = PRODUCT_TILES[
        2 if columns <= FEW_COLUMNS else int(rows * networks > FEW_POINTS)
    ]
    grid = (triton.cdiv(rows, height), triton.cdiv(columns, width), networks)
    _product_kernel[grid](
        a,
        b,
        bias,
        out,
        rows,
        columns,
        depth,
        *strides,
        BIAS=given,
        PRECISION=precision,
        ROWS=height,
        COLUMNS=width,
        DEPTH=deep,
        num_warps=warps,
        num_stages=stages,
    )
    return out


def sums(g: Tensor, a: Tensor, precision: str) -> tuple[Tensor, Tensor]:
    """(networks, m, n) and (networks, m, k) to sum_m g a, (networks, n, k), and sum_m g, (networks, n)."""
    networks, rows, columns = g.shape
    depth = a.shape[2]
    if precision != "bf16x3" and depth > COORDINATES:
        with _library_precision(precision):
            weight = torch.mm(g[0].T, a[0])[None] if networks == 1 else torch.bmm(g.mT, a)
        return weight, sums(g, a[..., :0], precision)[1]
    narrow = depth <= COORDINATES
    if narrow:
        together = depth <= TOGETHER
        wide, deep, high, warps, stages = (256, depth, 8, 4, 3) if together else (128, depth, 32, 4, 3)
        blocks = triton.cdiv(columns, wide) * (1 if together else depth + 1) * networks
    else:
        wide, deep, high, warps, stages = SUMS_TILES[columns <= FEW_COLUMNS]
        blocks = triton.cdiv(columns, wide) * triton.cdiv(depth, deep) * networks
    # Four or eight programs for each of an H200's 132 multiprocessors, and at least four tiles of rows for each slot.
    slots = max(1, min((1024 if narrow else 512) // blocks, rows // (4 * high)))
    share = triton.cdiv(triton.cdiv(rows, slots), high) * high
    partial = torch.empty(networks * slots * columns * (depth + 1), device=g.device, dtype=g.dtype)
    bias = partial[networks * slots * columns * depth :]
    out = torch.empty(networks, columns * (depth + 1), device=g.device, dtype=g.dtype)
    if rows == 0:
        out.zero_()
    else:
        strides = (*g.stride(), *a.stride())
        if narrow and together:
            _coordinate_sums_kernel[(triton.cdiv(columns, wide), slots * networks)](
                g, a, partial, bias, rows, columns, share, *strides, slots, DEPTH=depth, ROWS=high, COLUMNS=wide
            )
        elif narrow:
            _narrow_sums_kernel[(triton.cdiv(columns, wide), depth + 1, slots * networks)](
                g, a, partial, bias, rows, columns, share, *strides, slots, DEPTH=depth, ROWS=high, COLUMNS=wide
            )
        else:
            _sums_kernel[(triton.cdiv(columns, wide), triton.cdiv(depth, deep), slots * networks)](
                g,
                a,
                partial,
                bias,
                rows,
                columns,
                depth,
                share,
                *strides,
                slots,
                PRECISION=precision,
                COLUMNS=wide,
                DEPTH=deep,
                ROWS=high,
                num_warps=warps,
                num_stages=stages,
            )
        size = columns * depth
        _finish_kernel[(triton.cdiv(size + columns, 256), networks)](
            partial, bias, out, size, columns, slots, BLOCK=256
        )
    return out[:, : columns * depth].view(networks, columns, depth), out[:, columns * depth :]
