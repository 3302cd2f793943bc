"""Device code of the grid's sums (`loop` has the formulas): a program has BLOCK points, and one level or several.

A level's row of the table of levels is (offset, entries, dense, resolution ...). Tuples hold one entry for each axis:
`parts` the two shares in a row's number, `weights` what `_axis` says of the interpolation.
"""

from __future__ import annotations

import triton
import triton.language as tl

COLUMNS = tl.constexpr(7)
# One compilation serves every size.
SIZES = ["points", "entries", "levels"]


@triton.jit
def _axis(v, cells, SMOOTH: tl.constexpr):
    """The cell on one axis, and the upper weight with its first two derivatives by the coordinate."""
    half = 0.5 * cells.to(tl.float32)
    inside = (v >= -1.0) & (v <= 1.0)
    position = (tl.minimum(tl.maximum(v, -1.0, tl.PropagateNan.ALL), 1.0, tl.PropagateNan.ALL) + 1.0) * half
    # What is not a number is in cell 0, and its weights are not numbers either.
    at = tl.minimum(tl.where(position > 0.0, position, 0.0).to(tl.int32), cells - 1)
    s = position - at.to(tl.float32)
    slope = tl.where(inside, half, 0.0)
    bend = tl.zeros_like(s)
    if SMOOTH:
        bend = (6.0 - 12.0 * s) * slope * slope
        slope = 6.0 * s * (1.0 - s) * slope
        s = s * s * (3.0 - 2.0 * s)
    return at, s, slope, bend


@triton.jit
def _cell(x_pointer, first, exists, level, D: tl.constexpr, SMOOTH: tl.constexpr):
    """Of each point: its shares in the rows' numbers and its weights, axis by axis, the last axis first."""
    dense = tl.load(level + 2)
    stride = tl.full((), 1, tl.uint32)
    parts = ()
    weights = ()
    for i in tl.static_range(D):
        cells = tl.load(level + 3 + (D - 1 - i))
        v = tl.load(x_pointer + first + (D - 1 - i), mask=exists, other=0.0)
        at, upper, slope, bend = _axis(v, cells, SMOOTH)
        if i == 0:
            prime = tl.full((), 1, tl.uint32)
        elif i == 1:
            prime = tl.full((), 2654435761, tl.uint32)
        elif i == 2:
            prime = tl.full((), 805459861, tl.uint32)
        else:
            prime = tl.full((), 3674653429, tl.uint32)
        factor = tl.where(dense != 0, stride, prime)
        low = at.to(tl.uint32) * factor
        parts = parts + ((low, low + factor),)  # noqa: RUF005
        weights = weights + ((upper, slope, bend),)  # noqa: RUF005
        stride = stride * (cells + 1).to(tl.uint32)
    return parts, weights


@triton.jit
def _row(parts, level, corner: tl.constexpr, D: tl.constexpr):
    """The table's row of a corner."""
    total = parts[0][corner & 1]
    mixed = total
    for i in tl.static_range(1, D):
        part = parts[i][corner >> i & 1]
        total = total + part
        mixed = mixed ^ part
    mask = tl.load(level + 1).to(tl.uint32) - 1
    row = tl.where(tl.load(level + 2) != 0, total, mixed & mask)
    return row.to(tl.int32) + tl.load(level)


@triton.jit
def _weight(weights, corner: tl.constexpr, i: tl.constexpr, j: tl.constexpr, D: tl.constexpr):
    """The derivative of a corner's weight by the axes i and j (counted from the last; -1 is none)."""
    product = 1.0
    for k in tl.static_range(D):
        upper, slope, bend = weights[k]
        if k == i and k == j:
            factor = bend if corner >> k & 1 else -bend
        elif k == i or k == j:  # noqa: SIM109
            factor = slope if corner >> k & 1 else -slope
        else:
            factor = upper if corner >> k & 1 else 1.0 - upper
        product = product * factor
    return product


@triton.jit
def _directed(weights, along, corner: tl.constexpr, i: tl.constexpr, D: tl.constexpr, ALONG: tl.constexpr):
    """W, or D_v W; by the axis i too, unless that is -1."""
    if ALONG:
        total = along[0] * _weight(weights, corner, i, 0, D)
        for j in tl.static_range(1, D):
            total += along[j] * _weight(weights, corner, i, j, D)
    else:
        total = _weight(weights, corner, i, -1, D)
    return total


@triton.jit
def _direction(along_pointer, first, exists, D: tl.constexpr, ALONG: tl.constexpr):
    """The direction at each point, the last axis first."""
    along = ()
    for i in tl.static_range(D):
        if ALONG:
            along = along + (tl.load(along_pointer + first + (D - 1 - i), mask=exists, other=0.0),)  # noqa: RUF005
    return along


@triton.jit(do_not_specialize=SIZES)
def gather_kernel(
    x_pointer,
    table_pointer,
    along_pointer,
    levels_pointer,
    out_pointer,
    points,
    entries,
    levels,
    D: tl.constexpr,
    F: tl.constexpr,
    TOGETHER: tl.constexpr,
    SMOOTH: tl.constexpr,
    ALONG: tl.constexpr,
    BLOCK: tl.constexpr,
):
    network = tl.program_id(2).to(tl.int64)
    inside = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    exists = inside < points
    point = network * points + inside
    first = point * D
    table = table_pointer + network * entries * F
    along = _direction(along_pointer, first, exists, D, ALONG)
    feature = tl.arange(0, F)[None, :]
    for step in range(TOGETHER):
        index = tl.program_id(1) * TOGETHER + step
        if index < levels:
            level = levels_pointer + index * COLUMNS
            parts, weights = _cell(x_pointer, first, exists, level, D, SMOOTH)
            total = tl.zeros((BLOCK, F), dtype=tl.float32)
            for corner in tl.static_range(2**D):
                row = _row(parts, level, corner, D)
                found = tl.load(table + (row[:, None] * F + feature), mask=exists[:, None], other=0.0)
                total += _directed(weights, along, corner, -1, D, ALONG)[:, None] * found
            place = point[:, None] * (levels * F) + index * F + feature
            tl.store(out_pointer + place, total, mask=exists[:, None])


@triton.jit(do_not_specialize=SIZES[:2])
def slope_kernel(
    grad_pointer,
    x_pointer,
    table_pointer,
    along_pointer,
    levels_pointer,
    out_pointer,
    points,
    entries,
    levels: tl.constexpr,
    D: tl.constexpr,
    F: tl.constexpr,
    SMOOTH: tl.constexpr,
    ALONG: tl.constexpr,
    BLOCK: tl.constexpr,
):
    network = tl.program_id(1).to(tl.int64)
    inside = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    exists = inside < points
    point = network * points + inside
    first = point * D
    table = table_pointer + network * entries * F
    along = _direction(along_pointer, first, exists, D, ALONG)
    feature = tl.arange(0, F)[None, :]
    columns = tl.arange(0, 4)[None, :]
    totals = tl.zeros((BLOCK, 4), dtype=tl.float32)
    for index in range(levels):
        level = levels_pointer + index * COLUMNS
        parts, weights = _cell(x_pointer, first, exists, level, D, SMOOTH)
        place = point[:, None] * (levels * F) + index * F + feature
        grad = tl.load(grad_pointer + place, mask=exists[:, None], other=0.0)
        for corner in tl.static_range(2**D):
            row = _row(parts, level, corner, D)
            found = tl.load(table + (row[:, None] * F + feature), mask=exists[:, None], other=0.0)
            seen = tl.sum(grad * found, axis=1)
            for i in tl.static_range(D):
                part = seen * _directed(weights, along, corner, i, D, ALONG)
                totals += tl.where(columns == D - 1 - i, part[:, None], 0.0)
    tl.store(out_pointer + first[:, None] + columns, totals, mask=exists[:, None] & (columns < D))


@triton.jit(do_not_specialize=SIZES)
def scatter_kernel(
    grad_pointer,
    x_pointer,
    along_pointer,
    levels_pointer,
    scale_pointer,
    out_pointer,
    points,
    entries,
    levels,
    D: tl.constexpr,
    F: tl.constexpr,
    TOGETHER: tl.constexpr,
    SMOOTH: tl.constexpr,
    ALONG: tl.constexpr,
    FIXED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """FIXED adds whole numbers, grad times the scale rounded, whose sums do not depend on their order."""
    network = tl.program_id(2).to(tl.int64)
    inside = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    exists = inside < points
    point = network * points + inside
    first = point * D
    out = out_pointer + network * entries * F
    along = _direction(along_pointer, first, exists, D, ALONG)
    feature = tl.arange(0, F)[None, :]
    scale = 1.0
    if FIXED:
        scale = tl.load(scale_pointer)
    for step in range(TOGETHER):
        index = tl.program_id(1) * TOGETHER + step
        if index < levels:
            level = levels_pointer + index * COLUMNS
            parts, weights = _cell(x_pointer, first, exists, level, D, SMOOTH)
            place = point[:, None] * (levels * F) + index * F + feature
            grad = tl.load(grad_pointer + place, mask=exists[:, None], other=0.0)
            for corner in tl.static_range(2**D):
                row = _row(parts, level, corner, D)
                share = _directed(weights, along, corner, -1, D, ALONG)[:, None] * grad
                # Points of weight zero are often all at one place, where their additions would wait for each other.
                counts = exists[:, None] & (share != 0.0)
                if FIXED:
                    number = (share * scale).to(tl.int64)
                    tl.atomic_add(out + (row[:, None] * F + feature), number, mask=counts, sem="relaxed")
                else:
                    tl.atomic_add(out + (row[:, None] * F + feature), share, mask=counts, sem="relaxed")
