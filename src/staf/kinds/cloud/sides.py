"""On which side of a cloud's surface a cell of the cube is for certain: outside, if empty cells join it to the edge."""

from __future__ import annotations

import numpy as np

from staf._extras import need

# Cells along a side of the cube, at most; with fewer points there are fewer.
MOST_CELLS = 48
FEWEST_CELLS = 8
# Places this many cells below the surface are inside, except under thin parts; more of them outside show a leak.
DEPTH, LEAKED = 2.5, 0.2


def known_sides(places: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """int8 (r, r, r) over [-1, 1]^3: 1 outside of the surface through `places` (n, 3), -1 inside, 0 not known.

    Cells with a point, and those around them, are a wall; what can be reached from the edge of the cube without
    crossing it is outside, and the rest inside. Cells are so large that each near the surface has about two points.
    Where the wall has a hole, places below the surface are reached too, and nothing is known.

    >>> ball = np.random.default_rng(0).normal(size=(20_000, 3))
    >>> ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    >>> sides = known_sides(0.8 * ball, ball)
    >>> middle = len(sides) // 2
    >>> sides[0, 0, 0], sides[middle, middle, middle]
    (np.int8(1), np.int8(-1))
    """
    ndimage = need("shape", "scipy.ndimage")
    # A closed surface in the cube crosses about 6 r^2 cells.
    side = int(min(MOST_CELLS, max(FEWEST_CELLS, np.sqrt(len(places) / 12))))
    wall = np.zeros((side,) * 3, bool)
    wall[tuple(_cells(places, side).T)] = True
    wall = ndimage.binary_dilation(wall, np.ones((3, 3, 3), bool))
    labels, _ = ndimage.label(~wall)
    edge = np.ones_like(wall)
    edge[1:-1, 1:-1, 1:-1] = False
    reached = np.unique(labels[edge & ~wall])
    outside = np.isin(labels, reached[reached > 0])
    below = _cells(places - normals * (DEPTH * 2 / side), side)
    if outside[tuple(below.T)].mean() >= LEAKED:
        return np.zeros(wall.shape, np.int8)
    return outside.astype(np.int8) - (~outside & ~wall).astype(np.int8)


def _cells(places: np.ndarray, side: int) -> np.ndarray:
    return np.clip(((places + 1) / 2 * side).astype(int), 0, side - 1)
