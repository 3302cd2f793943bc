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
    warpgroup_mma_wait,
)

ROWS = gl.constexpr(64)
COLUMNS = gl.constexpr(128)
# Warps that compute sines, and how many rows these take at a time: one each.
SLICE = gl.constexpr(16)
PARTS = gl.constexpr(4)
# Registers of a thread of the warps that multiply.
MULTIPLYING = gl.constexpr(96)
# Columns of a chunk of operands: 128 bytes a row, as shared memory's blocks have.
DEPTH = gl.constexpr(64)
# Rows of a slice are those of warps, and a thread has four neighbours.
SPREAD = gl.constexpr(gl.BlockedLayout([1, 4], [1, 32], [16, 1], [1, 0]))
PRODUCT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16]))
PLACE = gl.constexpr(gl.SwizzledSharedLayout(4, 1, 8, [1, 0]))
# Barriers: a place is full, or free (of up to two each), the weights have come, and one for each chunk from CHUNK on.
FULL, FREE, WEIGHTS, CHUNK = gl.constexpr(0), gl.constexpr(2), gl.constexpr(4), gl.constexpr(5)


@gluon.constexpr_function
def stages(split, width):
    """How many tiles' operands, and products, shared memory has room for."""
    return 1 if split and width > 128 else 2


@gluon.jit
def following(stage, phase, STAGES: gl.constexpr):
    """The stage and phase of the next tile."""
    if STAGES == 2:
        phase = phase ^ stage
        stage = stage ^ 1
    else:
        phase = phase ^ 1
    return stage, phase


@gluon.jit
def shared_memory(a_high, b_high, SPLIT: gl.constexpr, WIDTH: gl.constexpr):
    """Chunks of operands, weights, the product's place, and barriers: FULL, FREE, WEIGHTS, then one for each chunk."""
    PLANES: gl.constexpr = 2 if SPLIT else 1
    CHUNKS: gl.constexpr = WIDTH // DEPTH
    weights = gl.allocate_shared_memory(b_high.dtype, [PLANES, COLUMNS, WIDTH], b_high.layout)
    operands = gl.allocate_shared_memory(
        a_high.dtype, [stages(SPLIT, WIDTH) * CHUNKS * PLANES, ROWS, DEPTH], a_high.layout
    )
    place = gl.allocate_shared_memory(gl.float32, [stages(SPLIT, WIDTH) * PARTS, SLICE, COLUMNS], PLACE)
    barriers = gl.allocate_shared_memory(
        gl.int64, [CHUNK + stages(SPLIT, WIDTH) * CHUNKS, 1], mbarrier.MBarrierLayout()
    )
    for index in gl.static_range(CHUNK + stages(SPLIT, WIDTH) * CHUNKS):
        mbarrier.init(barriers.index(index), count=1)
    fence_async_shared()
    gl.thread_barrier()
    return operands, weights, place, barriers


@gluon.jit
def work_of_program(slots, height, width):
    """What a program of a network's `slots` does: the network, the first column, slot and slots, the network's first
    row, and its tiles: the first of them, where they end, and how far each is from the next.
    """
    across = width // COLUMNS
    slot = gl.program_id(0) % slots
    network = gl.program_id(0) // slots
    return (
        network,
        slot % across * COLUMNS,
        slot,
        # A single slot is a constant, which this tuple could not hold.
        gl.to_tensor(slots),
        network * height,
        slot // across,
        height // ROWS,
        slots // across,
    )


@gluon.jit
def _fetch(a_high, a_low, row, k, exists, at, operands, barriers, SPLIT: gl.constexpr):
    """Ask for chunk k of some rows, if they exist, for the place `at` of all chunks."""
    PLANES: gl.constexpr = 2 if SPLIT else 1
    ready = barriers.index(CHUNK + at)
    mbarrier.expect(ready, PLANES * ROWS * DEPTH * 2, pred=exists)
    tma.async_copy_global_to_shared(a_high, [row, k * DEPTH], ready, operands.index(at * PLANES), pred=exists)
    if SPLIT:
        tma.async_copy_global_to_shared(a_low, [row, k * DEPTH], ready, operands.index(at * PLANES + 1), pred=exists)


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
    work,
    SPLIT: gl.constexpr,
    WIDTH: gl.constexpr,
):
    """The work of the warps that multiply: tiles `start`, `start` + `step` and so on, from `first_row`."""
    network, first, _slot, _slots, first_row, start, tiles, step = work
    column = network * WIDTH + first
    PLANES: gl.constexpr = 2 if SPLIT else 1
    CHUNKS: gl.constexpr = WIDTH // DEPTH
    STAGES: gl.constexpr = stages(SPLIT, WIDTH)
    arrived = barriers.index(WEIGHTS)
    mbarrier.expect(arrived, PLANES * COLUMNS * WIDTH * 2)
    tma.async_copy_global_to_shared(b_high, [column, 0], arrived, weights.index(0))
    if SPLIT:
        tma.async_copy_global_to_shared(b_low, [column, 0], arrived, weights.index(1))
    for chunk in gl.static_range(STAGES * CHUNKS):
        early = start + chunk // CHUNKS * step
        row = first_row + early * ROWS
        _fetch(a_high, a_low, row, chunk % CHUNKS, early < tiles, chunk, operands, barriers, SPLIT)
    # So wide a block lies in shared memory as chunks of DEPTH columns, one after the other.
    b = weights._reinterpret(weights.dtype, [PLANES * CHUNKS, COLUMNS, DEPTH], weights.layout)
    mbarrier.wait(arrived, 0)
    stage = 0
    phase = 0
    for tile in range(start, tiles, step):
        later = tile + STAGES * step
        row = first_row + later * ROWS
        total = gl.zeros([ROWS, COLUMNS], gl.float32, PRODUCT)
        for k in range(CHUNKS):
            at = stage * CHUNKS + k
            mbarrier.wait(barriers.index(CHUNK + at), phase)
            high = operands.index(at * PLANES)
            begun = warpgroup_mma(high, b.index(k).permute((1, 0)), total, is_async=True)
            if SPLIT:
                low = operands.index(at * PLANES + 1)
                begun = warpgroup_mma(low, b.index(k).permute((1, 0)), begun, is_async=True)
                begun = warpgroup_mma(high, b.index(CHUNKS + k).permute((1, 0)), begun, is_async=True)
            # The chunk before this one has been read by all of these warps.
            total = warpgroup_mma_wait(3 if SPLIT else 1, deps=[begun])
            gl.thread_barrier()
            before = gl.maximum(k - 1, 0)
            exists = (later < tiles) & (k > 0)
            _fetch(a_high, a_low, row, before, exists, stage * CHUNKS + before, operands, barriers, SPLIT)
        total = warpgroup_mma_wait(0, deps=[total])
        gl.thread_barrier()
        last = stage * CHUNKS + CHUNKS - 1
        _fetch(a_high, a_low, row, CHUNKS - 1, later < tiles, last, operands, barriers, SPLIT)
        # The first time, no buffer has to be freed.
        mbarrier.wait(barriers.index(FREE + stage), phase ^ 1)
        place._reinterpret(gl.float32, [STAGES, ROWS, COLUMNS], PLACE).index(stage).store(total)
        gl.thread_barrier()
        mbarrier.arrive(barriers.index(FULL + stage))
        stage, phase = following(stage, phase, STAGES)


@gluon.jit
def taken(place, barriers, stage, PART: gl.constexpr, STAGES: gl.constexpr):
    """A slice of a product; after the last one a single place is free for the next product."""
    given = place.index(stage * PARTS + PART).load(SPREAD)
    if STAGES == 1 and PART == PARTS - 1:
        gl.thread_barrier()
        mbarrier.arrive(barriers.index(FREE))
    return given


@gluon.jit
def released(barriers, stage, STAGES: gl.constexpr):
    """Where there are two places, one is free when all have finished with it, and no warp waits for it yet."""
    if STAGES == 2:
        gl.thread_barrier()
        mbarrier.arrive(barriers.index(FREE + stage))
