"""The multiresolution grid as its formula says; every kernel is a claim about this function."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from staf._typing import Float
from staf.ops.hash_grid.layout import GridLayout


def hash_grid_reference(
    x: Float[Tensor, "networks n d"],
    table: Float[Tensor, "networks entries features"],
    layout: GridLayout,
    smooth: bool,
) -> Float[Tensor, "networks n columns"]:
    """y_l(x) = sum over the 2^d corners b of x's cell: prod_k w(s_k, b_k) table[row_l(cell + b)], levels side by side.

    p = (x + 1) / 2 resolution is the position, cell = floor(p) and s = p - cell; w(s, 1) = s and w(s, 0) = 1 - s, with
    s^2 (3 - 2 s) instead of s if `smooth`. Points outside [-1, 1] are moved to its border first.

    >>> layout = GridLayout.geometric(1, levels=1, coarsest=2, growth=1.0)
    >>> table = torch.tensor([[[0.0], [10.0], [30.0]]])
    >>> hash_grid_reference(torch.tensor([[[-0.5], [0.5], [7.0]]]), table, layout, smooth=False).flatten().tolist()
    [5.0, 20.0, 30.0]
    """
    columns = []
    for level in layout.levels:
        cells = torch.tensor(level.resolution, dtype=x.dtype, device=x.device)
        position = (x.clamp(-1, 1) + 1) * (cells / 2)
        # A coordinate that is not a number has no cell; its values are not numbers either.
        cell = position.detach().nan_to_num(0).floor().minimum(cells - 1)
        s = position - cell
        s = s * s * (3 - 2 * s) if smooth else s
        total = torch.zeros_like(x[..., :1])
        for corner in itertools.product((0, 1), repeat=layout.dimensions):
            b = torch.tensor(corner, device=x.device)
            weight = torch.where(b == 1, s, 1 - s).prod(-1, keepdim=True)
            row = level.row(cell.long() + b)[..., None]
            total = total + weight * torch.take_along_dim(table, row, dim=1)
        columns.append(total)
    return torch.cat(columns, dim=-1)
