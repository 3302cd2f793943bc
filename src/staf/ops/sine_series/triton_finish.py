"""Device code that ends every sum of the sine series: the slots that programs have left are added in order."""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.triton_early import begin


@triton.jit
def finish_kernel(
    partial_pointer,
    amplitude_pointer,
    out_pointer,
    slots,
    width,
    networks,
    TERMS: tl.constexpr,
    SCALED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add the slots of one column's parameter in order; out is (3, networks, width, terms)."""
    column = tl.program_id(0) % width
    network = (tl.program_id(0) // width).to(tl.int64)
    which = (tl.program_id(1) // TERMS).to(tl.int64)
    k = tl.program_id(1) % TERMS
    kept = (network * 3 + which) * slots * TERMS * width
    slot = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(0, slots, BLOCK):
        place = partial_pointer + kept + ((start + slot) * TERMS + k) * width + column
        total += tl.load(place, mask=start + slot < slots, other=0.0).to(tl.float64)
    result = tl.sum(total)
    to = (network * width + column) * TERMS + k
    if SCALED:
        result *= tl.where(which > 0, tl.load(amplitude_pointer + to), 1.0).to(tl.float64)
    tl.store(out_pointer + which * networks * width * TERMS + to, result.to(tl.float32))


@triton.jit
def finish_shared_kernel(
    partial_pointer,
    amplitude_pointer,
    column_pointer,
    out_pointer,
    column_out_pointer,
    slots,
    rows,
    width,
    networks,
    programs,
    TERMS: tl.constexpr,
    SCALED: tl.constexpr,
    BLOCK: tl.constexpr,
    COLUMNS: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """Add the slots in order: one parameter's, out is (3, networks, 1, terms), or those of COLUMNS columns' sums."""
    begin(EARLY)
    index = tl.program_id(0) % programs
    network = (tl.program_id(0) // programs).to(tl.int64)
    if index < 3 * TERMS:
        which = (index // TERMS).to(tl.int64)
        k = index % TERMS
        first = partial_pointer + ((network * 3 + which) * TERMS + k) * slots
        slot = tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), dtype=tl.float64)
        for start in range(0, slots, BLOCK):
            total += tl.load(first + start + slot, mask=start + slot < slots, other=0.0).to(tl.float64)
        result = tl.sum(total)
        to = network * TERMS + k
        if SCALED:
            result *= tl.where(which > 0, tl.load(amplitude_pointer + to), 1.0).to(tl.float64)
        tl.store(out_pointer + which * networks * TERMS + to, result.to(tl.float32))
    else:
        column = ((index - 3 * TERMS) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
        row = tl.arange(0, BLOCK // COLUMNS)[:, None]
        sums = tl.zeros((BLOCK // COLUMNS, COLUMNS), dtype=tl.float64)
        for start in range(0, rows, BLOCK // COLUMNS):
            place = column_pointer + (network * rows + start + row) * width + column
            sums += tl.load(place, mask=(start + row < rows) & (column < width), other=0.0).to(tl.float64)
        added = tl.sum(sums, axis=0)[None, :].to(tl.float32)
        tl.store(column_out_pointer + network * width + column, added, mask=column < width)
