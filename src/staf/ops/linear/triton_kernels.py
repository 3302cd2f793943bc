"""Device code of hidden linear layers: matrix products, and their sums over points in slots."""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.triton_early import begin


@triton.jit
def product_kernel(
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
def sums_kernel(
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
    PLAIN: tl.constexpr,
    PRECISION: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Partial sums over this slot's rows: of g[m, n] a[m, k] and, by the first programs where PLAIN, of g[m, n]."""
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
        if PLAIN:
            plain += tl.sum(g_tile, axis=1)
    place = (network * slots + slot) * columns + column
    inside = (column[:, None] < columns) & (k[None, :] < depth)
    tl.store(partial_pointer + place[:, None] * depth + k[None, :], total, mask=inside)
    if PLAIN and tl.program_id(1) == 0:
        tl.store(bias_pointer + place, plain, mask=column < columns)


@triton.jit
def finish_kernel(
    partial_pointer,
    bias_pointer,
    out_pointer,
    size,
    columns,
    slots,
    SLOTS: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """Add the slots in order; the bias sums follow the weight sums in one output."""
    begin(EARLY)
    network = tl.program_id(1).to(tl.int64)
    place = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[None, :]
    weight = place < size
    bias = (place >= size) & (place < size + columns)
    total = tl.zeros((SLOTS, BLOCK), dtype=tl.float32)
    for first in range(0, slots, SLOTS):
        slot = (first + tl.arange(0, SLOTS))[:, None]
        start = network * slots + slot
        total += tl.load(partial_pointer + start * size + place, mask=weight & (slot < slots), other=0.0)
        total += tl.load(bias_pointer + start * columns + place - size, mask=bias & (slot < slots), other=0.0)
    added = tl.sum(total, axis=0)[None, :]
    tl.store(out_pointer + network * (size + columns) + place, added, mask=weight | bias)
