"""Coordinates of regular grids on [-1, 1], for all points or for a flat index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Convention = Literal["centres", "ends"]
CONVENTIONS: tuple[Convention, ...] = ("centres", "ends")


def axis(size: int, convention: Convention = "centres") -> Tensor:
    """The positions of `size` samples along one axis.

    `centres` places sample i of n at (2i+1)/n - 1, so that resolutions are aligned; `ends` is linspace(-1, 1, n), as in
    released research code.

    >>> axis(2).tolist(), axis(2, "ends").tolist()
    ([-0.5, 0.5], [-1.0, 1.0])
    """
    if size < 1:
        raise ValueError(f"a grid axis needs at least one sample, got {size}")
    if convention not in CONVENTIONS:
        raise ValueError(f"convention must be one of {', '.join(CONVENTIONS)}, got {convention!r}")
    return _positions(torch.arange(size), size, convention)


def _positions(index: Tensor, size: int, convention: Convention) -> Tensor:
    """The positions of samples `index` along an axis of `size`, computed in float64 and then rounded."""
    i = index.double()
    if convention == "centres":
        return ((2 * i + 1) / size - 1).float()
    return (2 * i / max(1, size - 1) - (0 if size == 1 else 1)).float()


def window(size: int, start: float, stop: float, count: int, convention: Convention = "centres") -> Tensor:
    """`count` positions over the samples [start, stop) of an axis of `size` samples, at any resolution.

    `centres` divides the span of those samples' cells into `count` cells and gives their centres:
    2 (start + (j + 1/2) (stop - start) / count) / size - 1. `ends` spreads them from the first sample to the last:
    2 (start + j (stop - 1 - start) / (count - 1)) / (size - 1) - 1. With count = stop - start both give the axis's own
    positions exactly.

    >>> window(4, 0, 4, 2).tolist(), window(5, 1, 4, 5, "ends").tolist()
    ([-0.5, 0.5], [-0.5, -0.25, 0.0, 0.25, 0.5])
    """
    axis(size, convention)
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    shortest = 0.0 if convention == "centres" else 1.0
    if not (0 <= start < stop <= size and stop - start >= shortest):
        raise ValueError(f"a window must lie in [0, {size}] and hold at least one sample, got [{start}, {stop})")
    j = torch.arange(count, dtype=torch.float64)
    if convention == "centres":
        return ((2 * start * count + (2 * j + 1) * (stop - start)) / (count * size) - 1).float()
    if size == 1:
        return torch.zeros(count, dtype=torch.float32)
    if count == 1:
        return torch.tensor([(start + stop - 1) / (size - 1) - 1], dtype=torch.float32)
    return (2 * (start * (count - 1) + j * (stop - 1 - start)) / ((count - 1) * (size - 1)) - 1).float()


def coordinates(
    shape: Sequence[int],
    convention: Convention = "centres",
    index: Tensor | None = None,
    *,
    device: torch.device | str | None = None,
) -> Tensor:
    """Coordinates (n, d) of a grid in C order: all of them, or those of a flat `index` (n,).

    With an index, nothing of the size of the grid is allocated, so that 512^3 voxels, or an hour of audio, need only
    the memory of the batch.

    >>> coordinates((2, 2)).tolist()
    [[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]]
    >>> coordinates((2, 2), index=torch.tensor([2])).tolist()
    [[0.5, -0.5]]
    """
    device = device if device is not None else (index.device if index is not None else None)
    if index is None:
        index = torch.arange(math.prod(shape), device=device)
    columns = []
    for size in reversed(shape):
        if size > index.numel():
            columns.append(_positions(index % size, size, convention))
        else:
            columns.append(axis(size, convention).to(index.device)[index % size])
        index = index // size
    return torch.stack(columns[::-1], dim=-1)
