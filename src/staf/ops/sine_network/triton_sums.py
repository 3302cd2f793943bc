"""Device code for weights: their planes, made once a step, and the sums over points that are their gradients."""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.sine_network.triton_layer import encoded
from staf.ops.triton_early import let_next, wait_before


@triton.jit
def split_kernel(
    weights,
    out_pointer,
    largest_pointer,
    networks,
    width,
    SPLIT: tl.constexpr,
    LAYERS: tl.constexpr,
    SIDE: tl.constexpr,
):
    """`split_tile` of every layer, by a program for each tile."""
    split_tile(weights, out_pointer, largest_pointer, tl.program_id(0), networks, width, SPLIT, LAYERS, SIDE)


@triton.jit
def split_tile(
    weights,
    out_pointer,
    largest_pointer,
    index,
    networks,
    width,
    SPLIT: tl.constexpr,
    LAYERS: tl.constexpr,
    SIDE: tl.constexpr,
):
    """Planes of a tile of a layer's weights (networks, width, width), and of the transposed ones.

    out is (4, LAYERS, networks, width, width): high, low, high and low transposed; unless SPLIT, high and high
    transposed, and the largest |weight| of each tile goes to largest, (LAYERS, networks, tiles), which `index` counts.
    """
    tiles = tl.cdiv(width, SIDE)
    tile_of_network = index % (tiles * tiles)
    network = (index // (tiles * tiles) % networks).to(tl.int64)
    layer = index // (tiles * tiles) // networks
    row = ((tile_of_network // tiles) * SIDE + tl.arange(0, SIDE))[:, None]
    column = ((tile_of_network % tiles) * SIDE + tl.arange(0, SIDE))[None, :]
    inside = (row < width) & (column < width)
    size = width.to(tl.int64) * width
    tile = tl.zeros((SIDE, SIDE), dtype=tl.float32)
    for which in tl.static_range(LAYERS):
        if layer == which:
            tile = tl.load(weights[which] + network * size + row * width + column, mask=inside, other=0.0)
    high, low = encoded(tile, SPLIT)
    kind = LAYERS * networks * size
    out = out_pointer + (layer * networks + network) * size
    straight = row * width + column
    turned = tl.trans(column) * width + tl.trans(row)
    tl.store(out + straight, high, mask=inside)
    if SPLIT:
        tl.store(out + kind + straight, low, mask=inside)
        tl.store(out + 2 * kind + turned, tl.trans(high), mask=tl.trans(inside))
        tl.store(out + 3 * kind + turned, tl.trans(low), mask=tl.trans(inside))
    else:
        tl.store(out + kind + turned, tl.trans(high), mask=tl.trans(inside))
        tl.store(largest_pointer + index, tl.max(tl.abs(tile)))


@triton.jit
def weight_sums_kernel(
    g_high,
    g_low,
    a_high,
    a_low,
    partial_pointer,
    factor_pointer,
    height,
    width,
    share,
    slots,
    SPLIT: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """sum_m g[m, n] a[m, k] over a slot's rows, of each network of each layer: (layers networks, slots, n, k).

    Unless SPLIT, factor (layers, networks) is what g was stored with.
    """
    wait_before(EARLY)
    first = tl.program_id(0) * COLUMNS
    second = tl.program_id(1) * DEPTH
    slot = tl.program_id(2) % slots
    network = tl.program_id(2) // slots
    start = network * height + slot * share
    total = tl.zeros((COLUMNS, DEPTH), dtype=tl.float32)
    for row in range(start, tl.minimum(start + share, (network + 1) * height), ROWS):
        g = g_high.load([row, first])
        a = a_high.load([row, second])
        total = tl.dot(g.T, a, total)
        if SPLIT:
            g_rest = g_low.load([row, first])
            a_rest = a_low.load([row, second])
            total = tl.dot(g_rest.T, a, total)
            total = tl.dot(g.T, a_rest, total)
    let_next(EARLY)
    if not SPLIT:
        total *= 1.0 / tl.load(factor_pointer + network)
    column = (first + tl.arange(0, COLUMNS))[:, None]
    k = (second + tl.arange(0, DEPTH))[None, :]
    tl.store(partial_pointer + (tl.program_id(2).to(tl.int64) * width + column) * width + k, total)
