"""Device code of linear layers that are thin on one side, few coordinates or few outputs: exact, at memory's speed.

Multiply-adds in float32, no matrix unit.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def narrow_product_kernel(
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
    """The product for a few inputs."""
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
def few_outputs_kernel(
    a_pointer,
    b_pointer,
    bias_pointer,
    out_pointer,
    rows,
    depth,
    a_network,
    a_row,
    a_depth,
    b_network,
    b_column,
    b_depth,
    bias_network,
    BIAS: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """The product for a few outputs: each row of a is read once."""
    network = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, DEPTH)
    totals = ()
    for _ in tl.static_range(COLUMNS):
        totals = totals + (tl.zeros((ROWS,), dtype=tl.float32),)  # noqa: RUF005
    for start in range(0, depth, DEPTH):
        left = start + k < depth
        a = tl.load(
            a_pointer + network * a_network + row[:, None].to(tl.int64) * a_row + (start + k)[None, :] * a_depth,
            mask=(row[:, None] < rows) & left[None, :],
            other=0.0,
        )
        added = ()
        for column in tl.static_range(COLUMNS):
            b = tl.load(
                b_pointer + network * b_network + column * b_column + (start + k) * b_depth, mask=left, other=0.0
            )
            added = added + (totals[column] + tl.sum(a * b[None, :], axis=1),)  # noqa: RUF005
        totals = added
    out = out_pointer + (network * rows + row) * COLUMNS
    for column in tl.static_range(COLUMNS):
        total = totals[column]
        if BIAS:
            total += tl.load(bias_pointer + network * bias_network + column)
        tl.store(out + column, total, mask=row < rows)


@triton.jit
def narrow_sums_kernel(
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


@triton.jit
def thin_sums_kernel(
    wide_pointer,
    thin_pointer,
    partial_pointer,
    bias_pointer,
    rows,
    columns,
    share,
    wide_network,
    wide_row,
    wide_column,
    thin_network,
    thin_row,
    thin_column,
    slots,
    THIN: tl.constexpr,
    OUTPUT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """All sums over the slot's rows of a wide matrix times a thin one, reading each once.

    The gradient is the thin one in an output layer (OUTPUT), the wide one in a layer on coordinates; its plain sums are
    the bias'. Sums are stored as that layer's weight has them.
    """
    slot = tl.program_id(1) % slots
    network = (tl.program_id(1) // slots).to(tl.int64)
    column = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    plain = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    totals = ()
    thin_totals = ()
    for _ in tl.static_range(THIN):
        totals = totals + (tl.zeros((ROWS, COLUMNS), dtype=tl.float32),)  # noqa: RUF005
        thin_totals = thin_totals + (tl.zeros((ROWS, 1), dtype=tl.float32),)  # noqa: RUF005
    for start in range(0, share, ROWS):
        inside = start + tl.arange(0, ROWS)[:, None]
        row = slot.to(tl.int64) * share + inside
        exists = (row < rows) & (inside < share)
        wide = tl.load(
            wide_pointer + network * wide_network + row * wide_row + column * wide_column,
            mask=exists & (column < columns),
            other=0.0,
        )
        if not OUTPUT:
            plain += wide
        added = ()
        thin_added = ()
        for which in tl.static_range(THIN):
            thin = tl.load(
                thin_pointer + network * thin_network + row * thin_row + which * thin_column, mask=exists, other=0.0
            )
            added = added + (totals[which] + wide * thin,)  # noqa: RUF005
            thin_added = thin_added + (thin_totals[which] + thin,)  # noqa: RUF005
        totals = added
        thin_totals = thin_added
    place = network * slots + slot
    left = column < columns
    for which in tl.static_range(THIN):
        to = (place * THIN + which) * columns + column if OUTPUT else (place * columns + column) * THIN + which
        tl.store(partial_pointer + to, tl.sum(totals[which], axis=0)[None, :], mask=left)
        if OUTPUT and tl.program_id(0) == 0:
            tl.store(bias_pointer + place * THIN + which, tl.sum(thin_totals[which]))
    if not OUTPUT:
        tl.store(bias_pointer + place * columns + column, tl.sum(plain, axis=0)[None, :], mask=left)
