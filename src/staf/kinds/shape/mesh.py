"""Mesh: vertices and triangles, checked once, with what its edges say about being closed."""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple

import numpy as np

from staf.kinds.plain_arrays import plain_array
from staf.kinds.shape.extent import check_extent
from staf.signals.errors import SignalError

Rule = Literal["winding", "parity", "open"]


class Mesh(NamedTuple):
    """Triangles in space: `vertices` float64 (n, 3) in the file's own frame, `faces` int64 (m, 3)."""

    vertices: np.ndarray
    faces: np.ndarray

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest corner of the box around the vertices, (3,) each."""
        return self.vertices.min(0), self.vertices.max(0)

    @property
    def corners(self) -> np.ndarray:
        """The positions of every face's corners, (m, 3, 3): face, corner, axis."""
        return self.vertices[self.faces]

    def areas(self) -> np.ndarray:
        """The area of every face, (m,)."""
        return np.linalg.norm(self.face_normals(unit=False), axis=1) / 2

    def face_normals(self, unit: bool = True) -> np.ndarray:
        """Outward normals (m, 3), or with unit=False the cross products, twice as long as the face's area."""
        a, b, c = self.corners.transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300) if unit else normals

    def vertex_normals(self) -> np.ndarray:
        """Unit normals (n, 3): the mean of the faces around each vertex, by area."""
        around = np.repeat(self.face_normals(unit=False), 3, axis=0)
        sums = [np.bincount(self.faces.ravel(), around[:, axis], len(self.vertices)) for axis in range(3)]
        normals = np.stack(sums, 1)
        return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)

    def digest(self) -> str:
        """A hash of the content: equal for equal vertices and faces, whatever the file was called."""
        sha = hashlib.sha256(np.ascontiguousarray(self.vertices, "<f8").tobytes())
        sha.update(np.ascontiguousarray(self.faces, "<i8").tobytes())
        return sha.hexdigest()


def checked_mesh(vertices: np.ndarray, faces: np.ndarray) -> tuple[Mesh, list[str]]:
    """A mesh that can be worked with, and sentences about what was done to it.

    Vertices at exactly one position become one (STL and GLB repeat them), faces with a repeated corner are dropped,
    and so are vertices that no face uses. Anything that leaves no surface is refused.

    >>> mesh, notes = checked_mesh(np.eye(3), np.array([[0, 1, 2], [1, 1, 2]]))
    >>> len(mesh.faces), notes
    (1, ['1 of 2 faces had a repeated corner and was dropped'])
    """
    vertices, faces = plain_array(vertices, "vertices"), plain_array(faces, "faces")
    if vertices.ndim != 2 or vertices.shape[1] != 3 or vertices.dtype.kind not in "fiu":
        raise SignalError(f"vertices must be numbers of shape (n, 3), got {vertices.dtype} {vertices.shape}")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        if faces.size:
            raise SignalError(f"faces must be whole numbers of shape (m, 3), got {faces.dtype} {faces.shape}")
        faces = np.zeros((0, 3), np.int64)
    if len(vertices) == 0:
        raise SignalError("the mesh is empty: it has no vertices")
    if len(faces) == 0:
        raise SignalError(f"the mesh has {len(vertices):,} vertices and no faces: a point cloud encloses nothing")
    vertices, faces = vertices.astype(np.float64), faces.astype(np.int64)
    bad = int((~np.isfinite(vertices)).any(1).sum())
    if bad:
        raise SignalError(f"{bad:,} of {len(vertices):,} vertices are NaN or infinite")
    check_extent(vertices, "vertices")
    if faces.min() < 0 or faces.max() >= len(vertices):
        worst = int(faces.min()) if faces.min() < 0 else int(faces.max())
        raise SignalError(f"a face names vertex {worst}, and they are numbered from 0 to {len(vertices) - 1:,}")
    return merged(Mesh(vertices, faces))


def merged(mesh: Mesh, grid: float = 0.0) -> tuple[Mesh, list[str]]:
    """One vertex per position (per cell of size `grid` if it is not 0), no faces with a repeated corner."""
    notes = []
    # Adding zero turns -0.0 into 0.0, whose bytes differ.
    keys = (np.round(mesh.vertices / grid) if grid else mesh.vertices) + 0.0
    _, first, inverse = np.unique(
        np.ascontiguousarray(keys).view(np.dtype((np.void, 24))).ravel(), return_index=True, return_inverse=True
    )
    faces = first[inverse.ravel()][mesh.faces]
    repeated = (faces == np.roll(faces, 1, axis=1)).any(1)
    dropped = int(repeated.sum())
    if dropped:
        faces = faces[~repeated]
        was = "was" if dropped == 1 else "were"
        notes.append(f"{dropped:,} of {len(mesh.faces):,} faces had a repeated corner and {was} dropped")
    if len(faces) == 0:
        raise SignalError("the mesh is degenerate: every face has a repeated corner")
    used = np.unique(faces)
    renumbered = np.empty(len(mesh.vertices), np.int64)
    renumbered[used] = np.arange(len(used))
    result = Mesh(mesh.vertices[used], renumbered[faces])
    if not result.areas().any():
        raise SignalError("the mesh is degenerate: every face has zero area")
    return result, notes


class Closure(NamedTuple):
    """Whether a surface bounds a volume, from how often each edge is used."""

    rule: Rule
    edges: int
    loose: int

    @property
    def watertight(self) -> bool:
        return self.rule != "open"


def closure(faces: np.ndarray) -> Closure:
    """How inside can be told from outside.

    `winding`: every edge is walked as often one way as the other, so the winding number is a whole number off the
    surface. `parity`: every edge has an even number of faces, though their sides disagree, so crossings are odd or
    even. `open`: `loose` edges have an odd number of faces.

    >>> tetrahedron = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    >>> closure(tetrahedron).rule, closure(tetrahedron[:3])
    ('winding', Closure(rule='open', edges=6, loose=3))
    """
    starts, ends = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    key = np.minimum(starts, ends) * (int(faces.max()) + 1) + np.maximum(starts, ends)
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    balance = np.add.reduceat(np.where(starts < ends, 1, -1)[order], first)
    count = np.diff(first, append=len(key))
    loose = int((count % 2).sum())
    rule: Rule = "winding" if not balance.any() else "open" if loose else "parity"
    return Closure(rule, len(first), loose)
