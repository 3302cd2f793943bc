"""`hash_grid`: trainable features on grids of several resolutions, interpolated at any point."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from staf._typing import Float
from staf.ops.backend import choose, is_traced, note, values_only
from staf.ops.checks import check_floating, promoted
from staf.ops.hash_grid.layout import FEATURES, MOST_NUMBERS, GridLayout, Level

__all__ = ["GridLayout", "Interpolation", "Level", "hash_grid"]

Interpolation = Literal["linear", "smoothstep"]
INTERPOLATIONS: tuple[Interpolation, ...] = ("linear", "smoothstep")


def hash_grid(
    x: Float[Tensor, "*points d"],
    table: Float[Tensor, "*networks entries features"],
    layout: GridLayout,
    *,
    interpolation: str = "linear",
    unmixed: str = "refuse",
    deterministic: bool = False,
) -> Float[Tensor, "*points columns"]:
    """The multiresolution hash encoding (Mueller et al. 2022) of x in [-1, 1]^d: levels x features values per point.

    Level l divides [-1, 1] into `layout.levels[l].resolution` cells an axis. Its features at x are those of the 2^d
    corners of x's cell, weighted by prod_k w_k: w is s or 1 - s for the position s of x in the cell, with
    s^2 (3 - 2 s) instead of s for "smoothstep". Points outside [-1, 1] have the value of the nearest border point, and
    derivatives of zero across it.

    | table | x | meaning |
    |---|---|---|
    | (entries, features) | (..., d) | one grid |
    | (networks, entries, features) | (networks, ..., d) | a batch of grids |

    Derivatives by x and by the table are exact. "smoothstep" has them at every order; the first is continuous. The
    first derivative by x of "linear" jumps between cells; mixed second derivatives, by x and the table or by two
    different coordinates, are exact inside the cells, and unmixed ones are zero there, which says nothing about the
    function. A second derivative by the coordinates is therefore an error, unless `unmixed="zero"` accepts that.

    Args:
        interpolation: "linear", or "smoothstep" where second derivatives are needed.
        deterministic: the table's gradient has the same bits in every run. On CUDA it is a sum of float32 atomics
            otherwise, whose order is not fixed, unless `torch.use_deterministic_algorithms(True)` is set. CPU results
            are always the same.

    >>> layout = GridLayout.geometric(2, levels=4, log2_entries=10, coarsest=4, growth=2.0)
    >>> import torch
    >>> table = torch.zeros(layout.entries, 2, requires_grad=True)
    >>> hash_grid(torch.rand(5, 2) * 2 - 1, table, layout).shape
    torch.Size([5, 8])
    """
    x = promoted(x, table.dtype)
    _check(x, table, layout, interpolation, unmixed)
    batched = table.dim() == 3
    networks = table.shape[0] if batched else 1
    flat = x.reshape(networks, -1, layout.dimensions)
    found = _dispatch(flat, table.reshape(networks, *table.shape[-2:]), layout, interpolation, unmixed, deterministic)
    return found.reshape(*x.shape[:-1], len(layout.levels) * table.shape[-1])


def _dispatch(
    x: Tensor, table: Tensor, layout: GridLayout, interpolation: str, unmixed: str, deterministic: bool
) -> Tensor:
    smooth = interpolation == "smoothstep"
    compiling = is_traced()
    backend = "reference" if compiling else choose("hash_grid", x)
    if backend == "reference":
        from staf.ops.hash_grid.reference import hash_grid_reference

        if not compiling:
            note("hash_grid", backend)
        return hash_grid_reference(x, table, layout, smooth)
    from staf.ops.hash_grid.autograd import Gather, Spec

    spec = Spec(layout, smooth, backend, deterministic, not smooth and unmixed == "refuse")
    if values_only(x, table):
        return Gather.forward(x, table, None, spec)
    return Gather.apply(x, table, None, spec)


def _check(x: Tensor, table: Tensor, layout: GridLayout, interpolation: str, unmixed: str) -> None:
    check_floating("x", x)
    if interpolation not in INTERPOLATIONS:
        raise ValueError(f"interpolation must be one of {', '.join(INTERPOLATIONS)}, got {interpolation!r}")
    if unmixed not in ("refuse", "zero"):
        raise ValueError(f"unmixed must be 'refuse' or 'zero', got {unmixed!r}")
    if table.dtype != x.dtype:
        raise TypeError(f"table must have the dtype of x, {x.dtype}, got {table.dtype}")
    if table.device != x.device:
        raise ValueError(f"table must be on the device of x, {x.device}, got {table.device}")
    if table.dim() not in (2, 3) or table.shape[-2] != layout.entries or table.shape[-1] not in FEATURES:
        raise ValueError(
            f"table must have shape ({layout.entries}, features) or (networks, {layout.entries}, features) with "
            f"{', '.join(map(str, FEATURES))} features, got {tuple(table.shape)}"
        )
    if layout.entries * table.shape[-1] > MOST_NUMBERS:
        raise ValueError(
            f"a table must hold at most {MOST_NUMBERS:,} numbers, got {layout.entries * table.shape[-1]:,}"
        )
    if x.dim() < 1 or x.shape[-1] != layout.dimensions:
        raise ValueError(f"x must have last dimension {layout.dimensions}, got shape {tuple(x.shape)}")
    if table.dim() == 3 and (x.dim() < 2 or x.shape[0] != table.shape[0]):
        raise ValueError(
            f"x must have shape (networks, ..., {layout.dimensions}) with {table.shape[0]} networks, "
            f"got {tuple(x.shape)}"
        )
