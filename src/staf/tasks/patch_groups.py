"""Patches that resemble each other as one Gaussian: what is seen of a patch tells the rest of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from staf._typing import Float

# Patches (r,), and those similar to each (r, count).
Group = tuple[Tensor, Tensor]
# Patches whose groups are in memory at once.
AT_ONCE = 1024


def patch_estimate(
    observed: Float[Tensor, "c h w"],
    precision: Float[Tensor, "c h w"],
    guide: Float[Tensor, "c h w"],
    groups: Sequence[Group],
    *,
    patch: int,
    level: float | None = None,
) -> Float[Tensor, "c h w"]:
    """The mean of x given y = x + noise, where each patch of x is a Gaussian with the statistics of similar patches.

    With the mean m and the centred rows G (count, d) of the patches of `guide` most similar to a patch, so that their
    covariance is C = G^T G / (count - 1), and P the diagonal matrix of precisions, the estimate of a patch y is

        m + C (C + P^-1)^-1 (y - m) = m + G^T K^-1 G P (y - m),    K = G P G^T + (count - 1) I,

    and v = diag(G^T K^-1 G) is the variance that is left. Patches are averaged where they overlap. All channels are one
    patch, so that they help each other.

    Args:
        observed: y.
        precision: 1 / variance of the noise of each value; 0 where nothing was observed.
        guide: an estimate of x, whose patches these are.
        groups: from `similar`: of this guide, or of one that resembles it.
        patch: the side of a patch.
        level: with it, patches are averaged with weights 1 / (v + level^2): those that are sure of a pixel count more.

    >>> stripes = torch.eye(2).repeat(8, 8)[None]
    >>> seen = torch.ones_like(stripes)
    >>> seen[0, 5, 5] = 0
    >>> groups = similar(stripes, patch=3, count=16, stride=1)
    >>> found = patch_estimate(stripes * seen, 1e6 * seen, stripes, groups, patch=3)
    >>> found[0, 5, 4:7].round(decimals=2).abs()
    tensor([0., 1., 0.])
    """
    channels, height, width = observed.shape
    across = width - patch + 1
    values, certain, guided = (patches(of, patch) for of in (observed, precision, guide))
    inside = torch.arange(channels * patch**2)
    inside = inside // patch**2 * height * width + inside // patch % patch * width + inside % patch
    total = torch.zeros(observed.numel(), dtype=observed.dtype)
    weights = torch.zeros_like(total)
    for own, group in groups:
        rows = guided[group]
        mean = rows.mean(1)
        rows = rows - mean[:, None]
        weighted = rows * certain[own][:, None]
        toward = weighted @ (values[own] - mean)[..., None]
        ridge = (rows.shape[1] - 1) * torch.eye(rows.shape[1], dtype=rows.dtype)
        root = torch.linalg.cholesky(weighted @ rows.mT + ridge)
        estimate = mean + (rows.mT @ torch.cholesky_solve(toward, root))[..., 0]
        weight = torch.ones_like(estimate)
        if level is not None:
            left = torch.linalg.solve_triangular(root, rows, upper=False).square().sum(1)
            weight = 1 / (left + level**2)
        at = ((own // across * width + own % across)[:, None] + inside).flatten()
        total.index_add_(0, at, (weight * estimate).flatten())
        weights.index_add_(0, at, weight.flatten())
    return (total / weights).reshape(observed.shape)


def patches(image: Float[Tensor, "c h w"], size: int) -> Float[Tensor, "n d"]:
    """Every patch of an image, by rows of their upper left corners; a patch has its channels one after another.

    >>> patches(torch.arange(6.0).reshape(1, 2, 3), 2)
    tensor([[0., 1., 3., 4.],
            [1., 2., 4., 5.]])
    """
    return image.unfold(1, size, 1).unfold(2, size, 1).permute(1, 2, 0, 3, 4).flatten(2).flatten(0, 1)


def similar(guide: Float[Tensor, "c h w"], *, patch: int, count: int, stride: int, reach: int = 10) -> list[Group]:
    """Patches that cover a picture, some at a time, and the `count` patches of least squared distance to each.

    A patch is the number of its row in `patches`; the first of those similar to it is the patch itself.

    Args:
        guide: the picture.
        patch: the side of a patch.
        count: how many patches are similar.
        stride: from a patch to the next one, at most `patch`.
        reach: how far away, along an axis, similar patches are looked for.
    """
    # A corner has neighbours on two sides only.
    most = math.prod(max(0, min(reach, size - patch) + 1) for size in guide.shape[1:])
    if not 2 <= count <= most:
        raise ValueError(
            f"count must be from 2 to {most} for patches of {patch} in a picture of {guide.shape[1]}x{guide.shape[2]}, "
            f"got {count}"
        )
    height, width = guide.shape[1:]
    rows, columns = (_starts(size - patch + 1, stride) for size in (height, width))
    steps = range(-reach, reach + 1)
    distances, moves = [], []
    for down in steps:
        for right in steps:
            if abs(down) > height - patch or abs(right) > width - patch:
                continue
            here = guide[:, max(0, -down) : height - max(0, down), max(0, -right) : width - max(0, right)]
            there = guide[:, max(0, down) : height - max(0, -down), max(0, right) : width - max(0, -right)]
            off = (here - there).square().sum(0)
            # A patch that would leave the picture is like no other.
            edge = (max(0, -right), max(0, right), max(0, -down), max(0, down))
            off = torch.nn.functional.pad(off, edge, value=torch.inf)
            near = torch.nn.functional.avg_pool2d(off[None], patch, 1)[0]
            distances.append(near[rows][:, columns].flatten())
            moves.append(down * (width - patch + 1) + right)
    own = (rows[:, None] * (width - patch + 1) + columns).flatten()
    found = torch.stack(distances, 1).topk(count, largest=False).indices
    group = own[:, None] + torch.tensor(moves)[found]
    return list(zip(own.split(AT_ONCE), group.split(AT_ONCE), strict=True))


def _starts(places: int, stride: int) -> Tensor:
    """Every `stride`-th of so many places, and the last one."""
    return torch.unique(torch.cat([torch.arange(0, places, stride), torch.tensor([places - 1])]))
