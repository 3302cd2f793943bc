"""Device code that layers and gradients for many rows share: products by warps of their own, weights in shared memory.

A multiprocessor has one program, with all of the weights of its columns. Four warps multiply one tile after the other;
a product goes through shared memory to the other warps, which take it SLICE rows at a time and compute sines meanwhile.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)

ROWS = gl.constexpr(64)
COLUMNS = gl.constexpr(128)
# Warps that compute sines, and how many rows these take at a time: one each.
SLICE = gl.constexpr(16)
PARTS = gl.constexpr(4)
# Registers of a thread of the warps that multiply.
MULTIPLYING = gl.constexpr(96)
# Columns of shared memory's blocks of 128 bytes a row.
DEPTH = gl.constexpr(64)
# Rows of a slice are those of warps, and a thread has four neighbours.
SPREAD = gl.constexpr(gl.BlockedLayout([1, 4], [1, 32], [16, 1], [1, 0]))
PRODUCT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16]))
PLACE = gl.constexpr(gl.SwizzledSharedLayout(4, 1, 8, [1, 0]))


@gluon.jit
def shared_memory(a_high, b_high, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    """Operands, weights, the product's place, and barriers: weights and operands have come, place is full or free."""
    PLANES: gl.constexpr = 2 if SPLIT else 1
    weights = gl.allocate_shared_memory(b_high.dtype, [PLANES, COLUMNS, WIDTH], b_high.layout)
    operands = gl.allocate_shared_memory(a_high.dtype, [PLANES, ROWS, WIDTH], a_high.layout)
    place = gl.allocate_shared_memory(gl.float32, [PARTS, SLICE, COLUMNS], PLACE)
    barriers = gl.allocate_shared_memory(gl.int64, [4, 1], mbarrier.MBarrierLayout())
    for index in gl.static_range(4):
        mbarrier.init(barriers.index(index), count=1)
    fence_async_shared()
    gl.thread_barrier()
    return operands, weights, place, barriers


@gluon.jit
def _fetch(a_high, a_low, row, exists, operands, ready, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    """Ask for a tile's rows, if it exists."""
    PLANES: gl.constexpr = 2 if SPLIT else 1
    mbarrier.expect(ready, PLANES * ROWS * WIDTH * 2, pred=exists)
    tma.async_copy_global_to_shared(a_high, [row, 0], ready, operands.index(0), pred=exists)
    if SPLIT:
        tma.async_copy_global_to_shared(a_low, [row, 0], ready, operands.index(1), pred=exists)


@gluon.jit
def _product(operands, weights, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    CHUNKS: gl.constexpr = WIDTH // DEPTH
    PLANES: gl.constexpr = 2 if SPLIT else 1
    # So wide a block lies in shared memory as blocks of DEPTH columns, one after the other; with the addresses of all
    # of them at once there would not be enough registers.
    a = operands._reinterpret(operands.dtype, [PLANES * CHUNKS, ROWS, DEPTH], operands.layout)
    b = weights._reinterpret(weights.dtype, [PLANES * CHUNKS, COLUMNS, DEPTH], weights.layout)
    total = warpgroup_mma_init(gl.zeros([ROWS, COLUMNS], gl.float32, PRODUCT))
    for k in range(CHUNKS):
        total = warpgroup_mma(a.index(k), b.index(k).permute((1, 0)), total, is_async=True)
        if SPLIT:
            total = warpgroup_mma(a.index(CHUNKS + k), b.index(k).permute((1, 0)), total, is_async=True)
            total = warpgroup_mma(a.index(k), b.index(CHUNKS + k).permute((1, 0)), total, is_async=True)
    return warpgroup_mma_wait(0, deps=[total])


@gluon.jit
def multiply(
    a_high,
    a_low,
    b_high,
    b_low,
    operands,
    weights,
    place,
    barriers,
    column,
    first_row,
    start,
    tiles,
    step,
    SPLIT: gl.constexpr,
    WIDTH: gl.constexpr,
):
    """The work of the warps that multiply: tiles `start`, `start` + `step` and so on, from `first_row`."""
    PLANES: gl.constexpr = 2 if SPLIT else 1
    arrived, ready = barriers.index(0), barriers.index(1)
    mbarrier.expect(arrived, PLANES * COLUMNS * WIDTH * 2)
    tma.async_copy_global_to_shared(b_high, [column, 0], arrived, weights.index(0))
    if SPLIT:
        tma.async_copy_global_to_shared(b_low, [column, 0], arrived, weights.index(1))
    _fetch(a_high, a_low, first_row + start * ROWS, start < tiles, operands, ready, SPLIT, WIDTH)
    mbarrier.wait(arrived, 0)
    phase = 0
    for tile in range(start, tiles, step):
        mbarrier.wait(ready, phase)
        total = _product(operands, weights, SPLIT, WIDTH)
        # All of these warps have read the operands.
        gl.thread_barrier()
        later = tile + step
        _fetch(a_high, a_low, first_row + later * ROWS, later < tiles, operands, ready, SPLIT, WIDTH)
        # The first time nobody has to free the place.
        mbarrier.wait(barriers.index(3), phase ^ 1)
        place._reinterpret(gl.float32, [ROWS, COLUMNS], PLACE).store(total)
        gl.thread_barrier()
        mbarrier.arrive(barriers.index(2))
        phase = phase ^ 1


@gluon.jit
def taken(place, barriers, PART: gl.constexpr):
    """A slice of a product; after the last one its place is free for the next product."""
    given = place.index(PART).load(SPREAD)
    if PART == PARTS - 1:
        gl.thread_barrier()
        mbarrier.arrive(barriers.index(3))
    return given
