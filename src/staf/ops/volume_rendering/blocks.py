"""Marching without a GPU: blocks of rays, and along each ray only the stretches near occupied cells."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.ops.volume_rendering.reference import cell_index

# Rays that are walked together.
RAYS = 512
# Half a stretch is a little less than a cell, so that all its points lie in the cell of its middle or next to that.
STRETCH = 1.9


def march(
    origin: Tensor,
    direction: Tensor,
    near: Tensor,
    far: Tensor,
    occupied: Tensor,
    step: float,
    budget: int,
    offset: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `march_reference`; blocks of rays beyond the budget are not looked at."""
    cells, around = occupied.reshape(-1), dilated(occupied).reshape(-1)
    together = max(1, int(STRETCH * 2 / max(occupied.shape) / step))
    count = torch.zeros(len(origin), dtype=torch.long, device=origin.device)
    distances, rays, total = [], [], 0
    for first in range(0, len(origin), RAYS):
        if total >= budget:
            break
        of = slice(first, first + RAYS)
        block = (origin[of], direction[of], near[of], far[of], offset[of])
        along, ray = _block(*block, cells, around, occupied.shape, step, together)
        count[of] = torch.bincount(ray, minlength=len(block[0]))
        distances.append(along)
        rays.append(ray + first)
        total += len(along)
    distance, ray = near.new_zeros(budget), count.new_zeros(budget)
    used = min(budget, total)
    if used:
        distance[:used], ray[:used] = torch.cat(distances)[:used], torch.cat(rays)[:used]
    start = (count.cumsum(0) - count).clamp(max=budget)
    return distance, ray, start, torch.minimum(count, budget - start)


def _block(
    origin: Tensor,
    direction: Tensor,
    near: Tensor,
    far: Tensor,
    offset: Tensor,
    cells: Tensor,
    around: Tensor,
    shape: torch.Size,
    step: float,
    together: int,
) -> tuple[Tensor, Tensor]:
    """Distance and ray of the samples of some rays, in order: first stretches of steps, then their steps."""
    longest = float((far - near).max()) if len(near) else 0.0
    stretches = torch.arange(int(longest / step / together) + 1, device=near.device)
    start = near[:, None] + (stretches * together + offset[:, None]) * step
    middle = start + 0.5 * (together - 1) * step
    close = around[cell_index(origin[:, None] + middle[..., None] * direction[:, None], shape)]
    ray, stretch = ((start < far[:, None]) & close).nonzero(as_tuple=True)
    steps = stretch[:, None] * together + torch.arange(together, device=near.device)
    along = near[ray, None] + (steps + offset[ray, None]) * step
    points = origin[ray, None] + along[..., None] * direction[ray, None]
    taken = (along < far[ray, None]) & cells[cell_index(points, shape)]
    return along[taken], ray[:, None].expand_as(along)[taken]


def dilated(occupied: Tensor) -> Tensor:
    """Occupied cells with their 26 neighbours.

    >>> grid = torch.zeros(5, 5, 5, dtype=torch.bool)
    >>> grid[0, 2, 4] = True
    >>> int(dilated(grid).sum())
    12
    """
    for axis in range(occupied.dim()):
        size = occupied.shape[axis]
        wider = occupied.clone()
        wider.narrow(axis, 1, size - 1).logical_or_(occupied.narrow(axis, 0, size - 1))
        wider.narrow(axis, 0, size - 1).logical_or_(occupied.narrow(axis, 1, size - 1))
        occupied = wider
    return occupied
