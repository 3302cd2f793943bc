"""Device code that layers and gradients for many rows share: products whose weights stay in shared memory.

A multiprocessor has one program, with all of the weights of its columns. A tile's product goes through shared memory to
the epilogue, which takes it SLICE rows at a time. Between the two halves of a tile's epilogue the product of the next
tile is begun, whose rows have come meanwhile: the matrix units work, and memory is read, while sines are computed.
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
SLICE = gl.constexpr(16)
HALF = gl.constexpr(2)
# Columns of shared memory's blocks of 128 bytes a row.
DEPTH = gl.constexpr(64)
# Rows of a slice are those of warps, and a thread has four neighbours.
SPREAD = gl.constexpr(gl.BlockedLayout([1, 4], [1, 32], [16, 1], [1, 0]))
PRODUCT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 4], [16, 32, 16]))
PLACE = gl.constexpr(gl.SwizzledSharedLayout(4, 1, 8, [1, 0]))


@gluon.jit
def fetch(a_high, a_low, row, exists, operands, ready, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    """Ask for a tile's rows, if it exists."""
    PLANES: gl.constexpr = 2 if SPLIT else 1
    mbarrier.expect(ready, PLANES * ROWS * WIDTH * 2, pred=exists)
    tma.async_copy_global_to_shared(a_high, [row, 0], ready, operands.index(0), pred=exists)
    if SPLIT:
        tma.async_copy_global_to_shared(a_low, [row, 0], ready, operands.index(1), pred=exists)


@gluon.jit
def begun(operands, weights, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    """A product that goes on beside what follows."""
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
    return total


@gluon.jit
def ended(total, place, a_high, a_low, row, exists, operands, ready, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    """Wait for a product, ask for the rows of the one after it, and leave it in its place."""
    done = warpgroup_mma_wait(0, deps=[total])
    # Everyone has read the operands, and the last tile's product.
    gl.thread_barrier()
    fetch(a_high, a_low, row, exists, operands, ready, SPLIT, WIDTH)
    place._reinterpret(gl.float32, [ROWS, COLUMNS], PLACE).store(done)
    gl.thread_barrier()


@gluon.jit
def first_tile(a_high, a_low, b_high, b_low, at, row, step, exists, more, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    """The shared memory of a program, and its first tile's product: operands, their barrier, weights and the place."""
    PLANES: gl.constexpr = 2 if SPLIT else 1
    weights = gl.allocate_shared_memory(b_high.dtype, [PLANES, COLUMNS, WIDTH], b_high.layout)
    operands = gl.allocate_shared_memory(a_high.dtype, [PLANES, ROWS, WIDTH], a_high.layout)
    place = gl.allocate_shared_memory(gl.float32, [ROWS // SLICE, SLICE, COLUMNS], PLACE)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    mbarrier.init(ready, count=1)
    fence_async_shared()
    gl.thread_barrier()
    mbarrier.expect(arrived, PLANES * COLUMNS * WIDTH * 2)
    tma.async_copy_global_to_shared(b_high, [at, 0], arrived, weights.index(0))
    if SPLIT:
        tma.async_copy_global_to_shared(b_low, [at, 0], arrived, weights.index(1))
    fetch(a_high, a_low, row, exists, operands, ready, SPLIT, WIDTH)
    mbarrier.wait(arrived, 0)
    mbarrier.wait(ready, 0, pred=exists)
    total = begun(operands, weights, SPLIT, WIDTH)
    ended(total, place, a_high, a_low, row + step * ROWS, more, operands, ready, SPLIT, WIDTH)
    return operands, ready, weights, place
