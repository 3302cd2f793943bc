"""Which columns of a grid each triangle covers, exactly: the core of voxelising and of drawing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# (triangle, row) pairs handled at once; bounds the temporaries to some 100 MB.
PAIRS = 2**19


class Hits(NamedTuple):
    """Columns that lie inside triangles: for each hit the triangle, the row and column, and barycentric weights."""

    triangle: np.ndarray
    row: np.ndarray
    column: np.ndarray
    weights: np.ndarray


def lattice_step(longest: int) -> int:
    """Lattice points per grid cell: as many as keep every product below within 64 bits, at most 2^20."""
    return 1 << min(20, 30 - max(1, int(longest).bit_length()))


def orientation(corners: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """+1, 0 or -1 for each triangle (m, 3, 2): the sign of its area on the lattice that `hits` uses."""
    return np.sign(_twice_area(_snap(corners, shape)))


def hits(corners: np.ndarray, shape: tuple[int, int]) -> Iterator[Hits]:
    """For triangles with `corners` (m, 3, 2) in cells, every sample (i + 1/2, j + 1/2) of a `shape` grid they cover.

    Corners are moved to a lattice of 2^-20 cells (coarser beyond 512 cells), and from there on all is whole-number
    arithmetic. A sample on an edge or a corner belongs to the triangle that holds it after a shift by (e, e^2) with e
    infinitely small, so triangles around an edge or a corner share it out without gap or overlap: the signed hits of a
    closed surface add up to zero in every column.

    >>> square = np.array([[[0, 0], [2, 0], [2, 2]], [[0, 0], [2, 2], [0, 2]]])
    >>> [(hit.row.tolist(), hit.column.tolist()) for hit in hits(square, (2, 2))]
    [([0, 1, 1, 0], [0, 0, 1, 1])]
    """
    snapped = _snap(corners, shape)
    area = _twice_area(snapped)
    step = lattice_step(max(shape))
    low, high = snapped[..., 0].min(1), snapped[..., 0].max(1)
    first = np.maximum(-((step // 2 - low) // step), 0)
    last = np.minimum((high - step // 2) // step, shape[0] - 1)
    rows = np.where(area != 0, np.maximum(last - first + 1, 0), 0)
    todo = np.flatnonzero(rows)
    ends = np.cumsum(rows[todo])
    start = 0
    while start < len(todo):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + PAIRS, side="right")))
        chosen = todo[start:stop]
        yield _covered(snapped[chosen], area[chosen], chosen, first[chosen], rows[chosen], step, shape[1])
        start = stop


def _snap(corners: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    return np.rint(corners * lattice_step(max(shape))).astype(np.int64)


def _twice_area(snapped: np.ndarray) -> np.ndarray:
    a, b, c = snapped[:, 0], snapped[:, 1], snapped[:, 2]
    return (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])


def _covered(
    corners: np.ndarray,
    area: np.ndarray,
    names: np.ndarray,
    first: np.ndarray,
    rows: np.ndarray,
    step: int,
    columns: int,
) -> Hits:
    """Each row of a triangle is one interval of columns: between the ceilings and floors that its edges give."""
    pair, within = _ranges(rows)
    row = first[pair] + within
    at = row * step + step // 2
    sign = np.sign(area)[pair]
    low, high = np.zeros(len(pair), np.int64), np.full(len(pair), columns - 1)
    edges = []
    for corner in range(3):
        a, b = corners[pair, corner], corners[pair, (corner + 1) % 3]
        # E(column) = slope * column - level has the sign of the side of the edge; turned triangles are turned back.
        d0, d1 = sign * (b[:, 0] - a[:, 0]), sign * (b[:, 1] - a[:, 1])
        slope, level = d0 * step, d1 * (at - a[:, 0]) + d0 * (a[:, 1] - step // 2)
        ties = (d1 < 0) | ((d1 == 0) & (d0 > 0))
        size = np.maximum(np.abs(slope), 1)
        above = np.where(ties, -((-level) // size), level // size + 1)
        below = np.where(ties, (-level) // size, -(level // size) - 1)
        low = np.where(d0 > 0, np.maximum(low, above), low)
        high = np.where(d0 < 0, np.minimum(high, below), high)
        blocked = (d0 == 0) & ~((level < 0) | ((level == 0) & ties))
        high = np.where(blocked, -1, high)
        edges.append((slope, level))
    source, offset = _ranges(np.maximum(high - low + 1, 0))
    column = low[source] + offset
    whole = np.abs(area)[pair[source]].astype(np.float64)
    # The edge opposite a corner weighs it: edge k runs from corner k to k+1, opposite corner k+2.
    opposite = [(edges[k][0][source] * column - edges[k][1][source]) / whole for k in range(3)]
    weights = np.stack([opposite[1], opposite[2], opposite[0]], axis=1)
    return Hits(names[pair[source]], row[source], column, weights)


def _ranges(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For counts (2, 0, 3): which range each element is of (0, 0, 2, 2, 2), and its place in it (0, 1, 0, 1, 2)."""
    owner = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - starts[owner]
