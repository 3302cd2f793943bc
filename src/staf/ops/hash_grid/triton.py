"""The grid's sums on CUDA in float32; shapes and formulas are those of `loop`.

The table's sums are atomic float32 additions, whose order, and so whose last bits, differ from run to run. Where a run
must repeat its bits they are additions of 64-bit whole numbers, which have the same sum in every order: contributions
are scaled so that the largest possible sum still fits, which leaves about 40 bits below the largest gradient.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from staf.ops.hash_grid.layout import GridLayout, level_table
from staf.ops.hash_grid.triton_kernels import gather_kernel, scatter_kernel, slope_kernel

# Points of a program, levels that it does one after another, and its warps; chosen by timing on an H200.
GATHER = (256, 1, 8)
SCATTER = (512, 1, 4)
SLOPE = (128, 4)
# The steepest slope of the upper weight in a cell.
STEEPEST = {False: 1.0, True: 1.5}


def gather(x: Tensor, table: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool) -> Tensor:
    """Values, or their derivative along a direction."""
    networks, points, _ = x.shape
    levels, features = len(layout.levels), table.shape[2]
    out = x.new_empty(networks, points, levels * features)
    block, together, warps = GATHER
    grid = (triton.cdiv(points, block), triton.cdiv(levels, together), networks)
    with torch.cuda.device_of(x):
        gather_kernel[grid](
            x.contiguous(),
            table.contiguous(),
            None if along is None else along.contiguous(),
            level_table(layout, x.device),
            out,
            points,
            layout.entries,
            levels,
            TOGETHER=together,
            **_options(layout, features, smooth, along, block, warps),
        )
    return out


def slope(grad: Tensor, x: Tensor, table: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool) -> Tensor:
    """The gradient of sum(grad gather) by x."""
    networks, points, _ = x.shape
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    block, warps = SLOPE
    with torch.cuda.device_of(x):
        slope_kernel[(triton.cdiv(points, block), networks)](
            grad.contiguous(),
            x.contiguous(),
            table.contiguous(),
            None if along is None else along.contiguous(),
            level_table(layout, x.device),
            out,
            points,
            layout.entries,
            len(layout.levels),
            **_options(layout, table.shape[2], smooth, along, block, warps),
        )
    return out


def scatter(
    grad: Tensor, x: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool, deterministic: bool = False
) -> Tensor:
    """The gradient of sum(grad gather) by the table."""
    networks, points, _ = x.shape
    levels = len(layout.levels)
    features = grad.shape[2] // levels
    dtype = torch.int64 if deterministic else torch.float32
    out = torch.zeros(networks, layout.entries, features, device=x.device, dtype=dtype)
    scale = _scale(grad, x, along, layout, smooth) if deterministic else None
    block, together, warps = SCATTER
    grid = (triton.cdiv(points, block), triton.cdiv(levels, together), networks)
    with torch.cuda.device_of(x):
        scatter_kernel[grid](
            grad.contiguous(),
            x.contiguous(),
            None if along is None else along.contiguous(),
            level_table(layout, x.device),
            scale,
            out,
            points,
            layout.entries,
            levels,
            TOGETHER=together,
            FIXED=deterministic,
            **_options(layout, features, smooth, along, block, warps),
        )
    return out if scale is None else (out.double() / scale.double()).float()


def _scale(grad: Tensor, x: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool) -> Tensor:
    """The power of two that contributions are multiplied by, so that no sum of them leaves 62 bits.

    Not a number where a gradient is infinite or none, which makes all sums so.
    """
    largest = torch.linalg.vector_norm(grad, ord=float("inf")).double()
    if along is not None:
        steepest = STEEPEST[smooth] * layout.finest / 2
        largest = largest * torch.linalg.vector_norm(along, ord=float("inf")).double() * (layout.dimensions * steepest)
    # Not more than float32 holds, times the largest contribution; zero gradients have any scale.
    room = 62 - (x.shape[1] * 2**layout.dimensions).bit_length()
    exponent = (room - torch.ceil(torch.log2(largest))).clamp(-120, 120)
    return torch.where(largest.isfinite(), torch.exp2(exponent), torch.nan).float()


def _options(
    layout: GridLayout, features: int, smooth: bool, along: Tensor | None, block: int, warps: int
) -> dict[str, int | bool]:
    return {
        "D": layout.dimensions,
        "F": features,
        "SMOOTH": smooth,
        "ALONG": along is not None,
        "BLOCK": block,
        "num_warps": warps,
    }
