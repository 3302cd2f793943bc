"""The three sums that a grid and all its derivatives are made of, one corner at a time, in plain torch.

Shapes: `x` and `along` (networks, n, d), `table` (networks, entries, features), `grad` (networks, n, levels features).
With W_b(x) the weight of corner b of a level, and W the same or, where `along` = v is given, its derivative in the
direction v, D_v W = sum_j v_j dW/dx_j,

    gather    y[n, l]   = sum_b W_b(x_n) table[row_b]
    slope     s[n, k]   = sum_l sum_b grad[n, l] . table[row_b]  dW_b/dx_k
    scatter   t[row]    = sum of grad[n, l] W_b(x_n) over all n, l, b with that row

`gather` is the grid; `slope` and `scatter` are its gradients by x and by the table, and with `along` the second ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor

from staf.ops.hash_grid.layout import GridLayout, Level


def gather(x: Tensor, table: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool) -> Tensor:
    """Values, or their derivative along a direction."""
    columns = []
    for level in layout.levels:
        total = x.new_zeros(*x.shape[:2], table.shape[2])
        for row, factors in _corners(x, level, smooth):
            weight = _product(factors, ()) if along is None else _directional(factors, along)
            total = total + weight[..., None] * torch.take_along_dim(table, row[..., None], dim=1)
        columns.append(total)
    return torch.cat(columns, dim=-1)


def slope(grad: Tensor, x: Tensor, table: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool) -> Tensor:
    """The gradient of sum(grad gather) by x."""
    totals = [torch.zeros_like(x[..., 0]) for _ in range(layout.dimensions)]
    for level, part in zip(layout.levels, grad.split(table.shape[2], dim=-1), strict=True):
        for row, factors in _corners(x, level, smooth):
            seen = (part * torch.take_along_dim(table, row[..., None], dim=1)).sum(-1)
            for k in range(layout.dimensions):
                weight = _product(factors, (k,)) if along is None else _directional(factors, along, k)
                totals[k] = totals[k] + seen * weight
    return torch.stack(totals, dim=-1)


def scatter(
    grad: Tensor, x: Tensor, along: Tensor | None, layout: GridLayout, smooth: bool, deterministic: bool = False
) -> Tensor:
    """The gradient of sum(grad gather) by the table.

    `deterministic` sorts the contributions on CUDA, where their order is not fixed otherwise.
    """
    networks, features = x.shape[0], grad.shape[2] // len(layout.levels)
    first = torch.arange(networks, device=x.device)[:, None] * layout.entries
    out = grad.new_zeros(networks * layout.entries, features)
    for level, part in zip(layout.levels, grad.split(features, dim=-1), strict=True):
        for row, factors in _corners(x, level, smooth):
            weight = _product(factors, ()) if along is None else _directional(factors, along)
            row = (row + first).flatten()
            contribution = (part * weight[..., None]).reshape(-1, features)
            if deterministic:
                out = out.index_put((row,), contribution, accumulate=True)
            else:
                out = out.index_add(0, row, contribution)
    return out.view(networks, layout.entries, features)


# One corner's weight is a product over the axes; an axis gives (w, dw/dx, d2w/dx2).
Factors = list[tuple[Tensor, Tensor, Tensor]]


def _corners(x: Tensor, level: Level, smooth: bool) -> Iterator[tuple[Tensor, Factors]]:
    """Each corner's row (networks, n), and its factors on each axis."""
    bounded = x.clamp(-1, 1)
    inside = ((x >= -1) & (x <= 1)).to(x.dtype)
    half = torch.tensor(level.resolution, dtype=x.dtype, device=x.device) / 2
    position = (bounded + 1) * half
    cell = position.detach().nan_to_num(0).floor().minimum(2 * half - 1)
    s = position - cell
    first, second = inside * half, inside * half * half
    if smooth:
        s, first, second = s * s * (3 - 2 * s), 6 * s * (1 - s) * first, (6 - 12 * s) * second
    else:
        second = torch.zeros_like(s)
    low, high = (1 - s, -first, -second), (s, first, second)
    for corner in itertools.product((0, 1), repeat=x.shape[-1]):
        vertex = cell.long() + torch.tensor(corner, device=x.device)
        chosen = [high if bit else low for bit in corner]
        yield level.row(vertex), [(w[..., k], d[..., k], e[..., k]) for k, (w, d, e) in enumerate(chosen)]


def _product(factors: Factors, by: tuple[int, ...]) -> Tensor:
    """The derivative of the corner's weight by the axes in `by` (each named up to twice)."""
    total = factors[0][by.count(0)]
    for axis in range(1, len(factors)):
        total = total * factors[axis][by.count(axis)]
    return total


def _directional(factors: Factors, along: Tensor, *by: int) -> Tensor:
    """D_v W, or its derivative by one axis more."""
    terms = [along[..., j] * _product(factors, (j, *by)) for j in range(len(factors))]
    return torch.stack(terms).sum(0)
