"""The definitions of volume rendering along rays, and of the samples that rays take through a grid of cells."""

from __future__ import annotations

import torch
from torch import Tensor


def composite_reference(
    density: Tensor,
    colour: Tensor,
    distance: Tensor,
    width: Tensor,
    start: Tensor,
    count: Tensor,
    background: Tensor,
    stop: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """sum a_i c_i + (1 - sum a_i) b, sum a_i, sum a_i t_i, with a_i = exp(-sum_{j<i} s_j w_j) (1 - exp(-s_i w_i))."""
    steps = torch.arange(int(count.max()) if len(count) else 0, device=count.device)
    inside = steps < count[:, None]
    index = (start[:, None] + steps).where(inside, 0)
    optical = torch.where(inside, (density * width)[index], 0)
    transmitted = torch.exp(-(optical.cumsum(1) - optical))
    weight = torch.where(transmitted >= stop, transmitted * -torch.expm1(-optical), 0)
    opacity = weight.sum(1)
    shown = (weight[..., None] * colour[index]).sum(1) + (1 - opacity)[:, None] * background
    return shown, opacity, (weight * distance[index]).sum(1)


def march_reference(
    origin: Tensor,
    direction: Tensor,
    near: Tensor,
    far: Tensor,
    occupied: Tensor,
    step: float,
    budget: int,
    offset: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Distance and ray of each sample, then first sample and count of each ray.

    Ray r is sampled at t_k = near_r + (k + offset_r) step < far_r, where the cell of o_r + t_k d_r is occupied; samples
    beyond the budget are left out.
    """
    most = float((far - near).max()) if len(near) else 0.0
    steps = torch.arange(max(0, int(-(-most // step)) + 1), device=near.device)
    along = near[:, None] + (steps + offset[:, None]) * step
    cells = cell_index(origin[:, None] + along[..., None] * direction[:, None], occupied.shape)
    taken = (along < far[:, None]) & occupied.reshape(-1)[cells]
    count = taken.sum(1)
    start = count.cumsum(0) - count
    distance, ray = along.new_zeros(budget), count.new_zeros(budget)
    rays, places = taken.nonzero(as_tuple=True)
    used = min(budget, len(rays))
    distance[:used], ray[:used] = along[rays, places][:used], rays[:used]
    start = start.clamp(max=budget)
    return distance, ray, start, torch.minimum(count, budget - start)


def visible_reference(
    density: Tensor,
    width: Tensor,
    distance: Tensor,
    ray: Tensor,
    start: Tensor,
    count: Tensor,
    stop: float,
    budget: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The samples with exp(-sum_{j<i} s_j w_j) >= stop, which are the first of each ray, packed as `march` packs."""
    steps = torch.arange(int(count.max()) if len(count) else 0, device=count.device)
    inside = steps < count[:, None]
    index = (start[:, None] + steps).where(inside, 0)
    optical = torch.where(inside, (density * width)[index], 0)
    seen = inside & (torch.exp(-(optical.cumsum(1) - optical)) >= stop)
    count = seen.sum(1)
    start = count.cumsum(0) - count
    kept = index[seen][:budget]
    packed, of = distance.new_zeros(budget), ray.new_zeros(budget)
    packed[: len(kept)], of[: len(kept)] = distance[kept], ray[kept]
    start = start.clamp(max=budget)
    return packed, of, start, torch.minimum(count, budget - start)


def cell_index(points: Tensor, shape: tuple[int, ...] | torch.Size) -> Tensor:
    """The flat index of the cell of a grid over [-1, 1]^3 that each point (..., 3) lies in; the nearest one outside."""
    sizes = torch.tensor(shape, device=points.device)
    cell = ((points + 1) * 0.5 * sizes).long().clamp(min=0)
    cell = torch.minimum(cell, sizes - 1)
    return (cell[..., 0] * shape[1] + cell[..., 1]) * shape[2] + cell[..., 2]
