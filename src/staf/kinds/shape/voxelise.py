"""Occupancy of a mesh on a grid: winding numbers, exact for closed surfaces, generalised for open ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from staf.kinds.shape import scanline, winding
from staf.kinds.shape.mesh import Closure, Mesh, Rule
from staf.kinds.shape.voxels import SLAB_VOXELS, PackedVolume
from staf.signals.errors import SignalError

MAX_RESOLUTION = 2048


def voxelise(mesh: Mesh, shape: tuple[int, int, int], rule: Rule = "winding") -> PackedVolume:
    """Which samples (i + 1/2, j + 1/2, k + 1/2) lie inside a mesh given in voxels.

    For a closed surface the winding number at a point is the sum of the signed crossings on any ray from it, so one
    sweep along the last axis gives it exactly at every sample: inside is where it is not zero (`winding`), or where
    the number of crossings is odd (`parity`). Only columns that faces cover are touched. For an `open` surface no ray
    speaks for the others; its generalised winding number w is the sum of solid angles / 4 pi, inside is |w| > 1/2, and
    it is evaluated on a coarse grid and refined near the surface and where it passes 1/2.

    >>> corners = np.array([[x, y, z] for x in (1, 3) for y in (1, 3) for z in (1, 3)], dtype=float)
    >>> sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    >>> faces = np.array([face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))])
    >>> voxelise(Mesh(corners, faces), (4, 4, 4)).count()
    8
    """
    if min(shape) < 1 or max(shape) > MAX_RESOLUTION:
        raise SignalError(f"a grid must have 1 to {MAX_RESOLUTION} voxels a side, got {shape}")
    if rule == "open":
        return PackedVolume.pack(winding.occupancy(mesh, shape))
    return PackedVolume.from_slabs(shape, _filled(mesh, shape, parity=rule == "parity"))


def _filled(mesh: Mesh, shape: tuple[int, int, int], parity: bool) -> Iterator[np.ndarray]:
    """Bool slabs along the first axis: crossings put down where they happen, then summed along the last axis."""
    a, b, c = shape
    column, height, step = _crossings(mesh, shape)
    order = np.argsort(column, kind="stable")
    column, height, step = column[order], height[order], step[order]
    thickness = max(1, SLAB_VOXELS // (b * c))
    for start in range(0, a, thickness):
        stop = min(a, start + thickness)
        part = slice(*np.searchsorted(column, (start * b, stop * b)))
        changes = np.zeros(((stop - start) * b, c), np.int16)
        np.add.at(changes, (column[part] - start * b, height[part]), step[part])
        numbers = np.cumsum(changes, axis=1, out=changes)
        inside = (numbers & 1 if parity else numbers) != 0
        yield inside.reshape(stop - start, b, c)


def _crossings(mesh: Mesh, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where columns meet the surface: the column, the first sample after it, and the change of the winding number."""
    a, b, c = shape
    corners = mesh.corners
    flat = corners[..., :2]
    # A face whose outside looks up the column is where the column leaves the shape.
    change = -scanline.orientation(flat, (a, b)).astype(np.int16)
    columns, heights, steps = [], [], []
    for hit in scanline.hits(flat, (a, b)):
        height = (corners[hit.triangle, :, 2] * hit.weights).sum(1)
        after = np.maximum(np.ceil(height - 0.5), 0).astype(np.int64)
        kept = after < c
        columns.append((hit.row * b + hit.column)[kept])
        heights.append(after[kept])
        steps.append(change[hit.triangle[kept]])
    if not columns:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int16)
    return np.concatenate(columns), np.concatenate(heights), np.concatenate(steps)


def grid_of(mesh: Mesh, resolution: int) -> tuple[np.ndarray, float]:
    """The centre of the mesh's box (3,) and half its longest side: `resolution` voxels span that side.

    >>> grid_of(Mesh(np.array([[0.0, 0, 0], [4, 2, 0], [4, 0, 1]]), np.array([[0, 1, 2]])), 8)[1]
    2.0
    """
    if isinstance(resolution, bool) or not isinstance(resolution, int) or not 2 <= resolution <= MAX_RESOLUTION:
        raise SignalError(f"resolution must be a whole number from 2 to {MAX_RESOLUTION}, got {resolution!r}")
    low, high = mesh.bounds
    half = float((high - low).max()) / 2
    if not (math.isfinite(half) and half > 0):
        raise SignalError(f"the mesh must have a size, got a box from {low.tolist()} to {high.tolist()}")
    return (low + high) / 2, half


def occupied_box(mesh: Mesh, resolution: int, rule: Rule, name: str) -> tuple[PackedVolume, tuple[int, int, int]]:
    """The occupancy of a mesh on its grid, cropped to the smallest box of inside voxels, and where that box begins."""
    centre, half = grid_of(mesh, resolution)
    voxels = ((mesh.vertices - centre) / half + 1) / 2 * resolution
    first = np.clip(np.floor(voxels.min(0)).astype(int), 0, resolution - 1)
    last = np.clip(np.ceil(voxels.max(0)).astype(int), first + 1, resolution)
    a, b, c = (int(size) for size in last - first)
    volume = voxelise(Mesh(voxels - first, mesh.faces), (a, b, c), rule)
    if volume.count() == 0:
        flat = (voxels.max(0) == voxels.min(0)).any()
        why = "it is flat, and encloses nothing" if flat else "it is thinner than a voxel; raise the resolution"
        raise SignalError(f"{name!r} holds no voxel at resolution {resolution}: {why}")
    box, offset = volume.cropped()
    i, j, k = (int(start) for start in first + offset)
    return box, (i, j, k)


def not_watertight(name: str, mesh: Mesh, closure: Closure) -> SignalError:
    """What to say of a surface with holes whose inside was asked for."""
    few = "" if len(mesh.faces) > 3 else f" (it has {len(mesh.faces)}, and a closed one needs 4)"
    return SignalError(
        f"{name!r} is not watertight: {closure.loose:,} of {closure.edges:,} edges do not join two faces{few}; close "
        "the holes with shape.repaired() (staf fit --repair), or take the surface as it is by winding numbers with "
        "shape.sampled(allow_open=True) (staf fit --allow-open)"
    )
