"""The compiled CPU kernels of the grid's sums, for float32; shapes and formulas are those of `loop`.

No result depends on the number of threads.
"""

from __future__ import annotations

from torch import Tensor

from staf.ops import native
from staf.ops.hash_grid.layout import GridLayout, level_table


def gather(x: Tensor, table: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool) -> Tensor:
    """Values, or their derivative along a direction."""
    out = x.new_empty(*x.shape[:2], len(layout.levels) * table.shape[2])
    _call("staf_grid_gather", [], x, table, along, out, layout, table.shape[2], smooth)
    return out


def slope(grad: Tensor, x: Tensor, table: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool) -> Tensor:
    """The gradient of sum(grad gather) by x."""
    out = x.new_empty(x.shape)
    _call("staf_grid_slope", [grad], x, table, along, out, layout, table.shape[2], smooth)
    return out


def scatter(
    grad: Tensor, x: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool, deterministic: bool = False
) -> Tensor:
    """The gradient of sum(grad gather) by the table; the same bits with and without `deterministic`."""
    features = grad.shape[2] // len(layout.levels)
    out = x.new_zeros(x.shape[0], layout.entries, features)
    _call("staf_grid_scatter", [grad], x, None, along, out, layout, features, smooth)
    return out


def _call(
    function: str,
    first: list[Tensor],
    x: Tensor,
    table: Tensor | None,
    along: Tensor | None,
    out: Tensor,
    layout: GridLayout,
    features: int,
    smooth: bool,
) -> None:
    given = [None if tensor is None else tensor.contiguous() for tensor in (*first, x, table, along)]
    levels = level_table(layout, x.device)
    addresses = [None if tensor is None else tensor.data_ptr() for tensor in (*given, levels, out)]
    corners = x.shape[0] * x.shape[1] * len(layout.levels) * 2**layout.dimensions
    sizes = (*x.shape, len(layout.levels), features, layout.entries)
    kernel = getattr(native.library(required=True), function)
    kernel(*addresses, *sizes, int(smooth), native.thread_count(corners))
