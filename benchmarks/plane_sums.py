"""Sums over points of planes of 16 bits by tiles of Triton: another way than the library's, to be timed beside it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

# Columns, depth and rows of a tile, warps and stages.
TILES = ((128, 256, 32, 8, 3), (128, 128, 64, 8, 3), (128, 128, 64, 4, 3))
PROGRAMS = 132


@triton.jit
def _plane_sums_kernel(
    g_high,
    g_low,
    a_high,
    a_low,
    partial_pointer,
    rows,
    columns,
    depth,
    share,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """sum_m g[m, n] a[m, k] over a slot's rows, (slots, n, k)."""
    first, second = tl.program_id(0) * COLUMNS, tl.program_id(1) * DEPTH
    start = tl.program_id(2) * share
    total = tl.zeros((COLUMNS, DEPTH), dtype=tl.float32)
    for row in range(start, tl.minimum(start + share, rows), ROWS):
        g, a = g_high.load([row, first]), a_high.load([row, second])
        total = tl.dot(g.T, a, total)
        total = tl.dot(g_low.load([row, first]).T, a, total)
        total = tl.dot(g.T, a_low.load([row, second]), total)
    column, k = (first + tl.arange(0, COLUMNS))[:, None], (second + tl.arange(0, DEPTH))[None, :]
    to = partial_pointer + (tl.program_id(2) * columns + column) * depth + k
    tl.store(to, total, mask=(column < columns) & (k < depth))


def plane_sums(grads: Tensor, numbers: Tensor, tile: tuple[int, int, int, int, int]) -> Tensor:
    """Sums of three planes of gradients (n, 3 m) and two of numbers (n, 2 k), in slots: another way than `products`."""
    wide, deep, high, warps, stages = tile
    rows, columns, depth = len(grads), grads.shape[1] // 3, numbers.shape[1] // 2
    across = (triton.cdiv(columns, wide), triton.cdiv(depth, deep))
    slots = max(1, PROGRAMS // (across[0] * across[1]))
    share = triton.cdiv(triton.cdiv(rows, slots), high) * high
    slots = triton.cdiv(rows, share)
    partial = torch.empty(slots, columns, depth, device=grads.device, dtype=torch.float32)

    def described(plane: Tensor, block: int) -> TensorDescriptor:
        return TensorDescriptor(plane, list(plane.shape), list(plane.stride()), [high, block])

    _plane_sums_kernel[(*across, slots)](
        described(grads[:, :columns], wide),
        described(grads[:, columns : 2 * columns], wide),
        described(numbers[:, :depth], deep),
        described(numbers[:, depth:], deep),
        partial,
        rows,
        columns,
        depth,
        share,
        COLUMNS=wide,
        DEPTH=deep,
        ROWS=high,
        num_warps=warps,
        num_stages=stages,
    )
    return partial
