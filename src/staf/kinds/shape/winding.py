"""Generalised winding numbers, which give even a surface with holes an inside."""

from __future__ import annotations

import numpy as np

from staf._extras import need
from staf.kinds.shape.mesh import Mesh
from staf.signals.errors import SignalError

# The coarse grid: one sample per cube of this many voxels a side, halved until it is one.
COARSEST = 8


def winding_numbers(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """w(p) = sum over faces of their signed solid angle seen from p, / 4 pi; (n, 3) points to (n,), direct.

    tan(angle / 2) = a.(b x c) / (|a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|) with corners relative to p. Cost is
    points times faces: the definition that the fast ones are tested against.

    >>> corners = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])
    >>> mesh = Mesh(corners, np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]]))
    >>> winding_numbers(mesh, np.array([[0.0, 0, 0], [2, 0, 0]])).round(6) == [1, 0]
    array([ True,  True])
    """
    total = np.empty(len(points))
    for start in range(0, len(points), 256):
        a, b, c = (mesh.corners[None, :, k] - points[start : start + 256, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(side, axis=-1) for side in (a, b, c))
        numerator = (a * np.cross(b, c)).sum(-1)
        below = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
        total[start : start + 256] = 2 * np.arctan2(numerator, below).sum(1)
    return total / (4 * np.pi)


def occupancy(mesh: Mesh, shape: tuple[int, int, int]) -> np.ndarray:
    """|w| > 1/2 at samples (i + 1/2, ...) as bool `shape`, for a mesh in voxels, refined near the surface only.

    A cube of voxels is divided when it or a neighbour holds a piece of surface, or when its sign differs from a
    neighbour's; everywhere else w is smooth and far from 1/2, and the cube keeps its sign. Far groups of faces are
    summed as dipoles, with an error near 1e-3 in w.
    """
    touched = _touched(mesh, shape)
    side = COARSEST
    blocks = tuple(-(-size // side) for size in shape)
    inside = _signs(mesh, np.stack(np.unravel_index(np.arange(np.prod(blocks)), blocks), 1), side).reshape(blocks)
    while side > 1:
        near = _grown(_occupied(touched // side, inside.shape)) | _differs(inside)
        side //= 2
        finer = tuple(-(-size // side) for size in shape)
        inside = _doubled(inside)[: finer[0], : finer[1], : finer[2]]
        divided = np.argwhere(_doubled(near)[: finer[0], : finer[1], : finer[2]])
        inside[tuple(divided.T)] = _signs(mesh, divided, side)
    return inside


def _signs(mesh: Mesh, blocks: np.ndarray, side: int) -> np.ndarray:
    point_cloud_utils = need("shape", "point_cloud_utils")

    if not len(blocks):
        return np.zeros(0, bool)
    vertices, points = (np.ascontiguousarray(array) for array in (mesh.vertices, (blocks + 0.5) * side))
    faces = np.ascontiguousarray(mesh.faces)
    numbers = point_cloud_utils.triangle_soup_fast_winding_number(vertices, faces, points)
    return np.abs(np.asarray(numbers).reshape(-1)) > 0.5


def _touched(mesh: Mesh, shape: tuple[int, int, int]) -> np.ndarray:
    """Voxels (n, 3) with a piece of surface, from points on every face at most half a voxel apart."""
    corners = mesh.corners
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(1)
    steps = np.maximum(1, np.ceil(2 * longest)).astype(np.int64)
    if int(((steps + 1) * (steps + 2) // 2).sum()) > 2**31:
        raise SignalError("the faces are too many and too long for this grid: lower the resolution, or close the mesh")
    found = []
    for count in np.unique(steps):
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        kept = i + j <= count
        weights = np.stack([i[kept], j[kept], count - i[kept] - j[kept]], 1) / count
        chosen = np.flatnonzero(steps == count)
        group = max(1, 2**20 // len(weights))
        for start in range(0, len(chosen), group):
            points = np.einsum("wk,fkx->fwx", weights, corners[chosen[start : start + group]]).reshape(-1, 3)
            voxels = np.clip(np.floor(points).astype(np.int64), 0, np.array(shape) - 1)
            found.append(np.unique(np.ravel_multi_index(tuple(voxels.T), shape)))
    return np.stack(np.unravel_index(np.unique(np.concatenate(found)), shape), 1)


def _occupied(blocks: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    marked = np.zeros(shape, bool)
    marked[tuple(blocks.T)] = True
    return marked


def _doubled(grid: np.ndarray) -> np.ndarray:
    for axis in range(3):
        grid = np.repeat(grid, 2, axis=axis)
    return grid


def _grown(grid: np.ndarray) -> np.ndarray:
    """True also beside a True, diagonals included."""
    for axis in range(3):
        moved, source = np.moveaxis(grid, axis, 0), np.moveaxis(grid, axis, 0).copy()
        moved[1:] |= source[:-1]
        moved[:-1] |= source[1:]
    return grid


def _differs(grid: np.ndarray) -> np.ndarray:
    """True where a neighbour along an axis has another value."""
    result = np.zeros_like(grid)
    for axis in range(3):
        values, out = np.moveaxis(grid, axis, 0), np.moveaxis(result, axis, 0)
        change = values[1:] != values[:-1]
        out[1:] |= change
        out[:-1] |= change
    return result
