"""Marching cubes over planes that come one after another, so that no volume of floats is ever held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from staf._extras import need
from staf.kinds.shape.mesh import Mesh
from staf.signals.errors import SignalError

# Samples marched at once.
SLAB_SAMPLES = 2**24
# Samples are kept this far from the level, so that no vertex falls on a sample, where edges could not be told apart.
CLEARANCE = 1e-3
# Some 8 GB of vertices and faces.
MAX_FACES = 100_000_000


class TooManyFaces(SignalError):
    """A surface with more faces than allowed: noise, most often."""


def march(
    planes: Iterable[np.ndarray],
    level: float = 0.5,
    *,
    slab_samples: int = SLAB_SAMPLES,
    max_faces: int = MAX_FACES,
) -> Mesh | None:
    """The surface at `level` of samples given as planes float32 (b, c), one for each index of the first axis.

    Vertices are in samples: the first sample of the first plane is at (0, 0, 0). A shape that reaches the grid's edge
    is closed at most half a sample beyond it, where the box ends, sooner if the values fall that way. Slabs of at most
    `slab_samples` samples share one plane, and the vertices on it are joined, so the surface is the same as that of
    the whole, and closed. Faces look towards smaller values. None: there is no surface.

    Samples within 1e-3 of the level are moved to that distance, and those further than 1 are brought to 1, which moves
    the surface of an occupancy by less than 1e-3 of a sample or so. A surface of over `max_faces` faces is given up.

    >>> block = np.zeros((3, 3, 3), np.float32)
    >>> block[1, 1, 1] = 1
    >>> mesh = march(block)
    >>> len(mesh.vertices), mesh.vertices.min(0).tolist(), mesh.vertices.max(0).tolist()
    (6, [0.5, 0.5, 0.5], [1.5, 1.5, 1.5])
    """
    joined = _Joined()
    for start, slab in _slabs(_padded(planes, level), slab_samples):
        vertices, faces = _surface(slab, level)
        joined.add(vertices, faces, start, len(slab) - 1)
        if joined.face_count > max_faces:
            raise TooManyFaces(
                f"the surface has over {max_faces:,} faces, which is noise for most fields: fit it longer, or lower "
                "the resolution"
            )
    return joined.mesh()


def _slabs(planes: Iterable[np.ndarray], slab_samples: int) -> Iterator[tuple[int, np.ndarray]]:
    """(index of the first plane, slab), where successive slabs share a plane; planes are counted from -1."""
    start, kept = -1, []
    for plane in planes:
        kept.append(plane)
        if len(kept) >= max(2, slab_samples // plane.size):
            yield start, np.stack(kept)
            start, kept = start + len(kept) - 1, kept[-1:]
    if len(kept) > 1:
        yield start, np.stack(kept)


def _padded(planes: Iterable[np.ndarray], level: float) -> Iterator[np.ndarray]:
    """The planes with one sample more on every side, and one plane more before and after."""
    before: np.ndarray | None = None
    last: np.ndarray | None = None
    for plane in planes:
        framed = _framed(plane, level)
        if last is not None:
            if before is None:
                yield _beyond(last, framed, level)
            yield last
        before, last = last, framed
    if last is not None:
        if before is None:
            yield _beyond(last, last, level)
        yield last
        yield _beyond(last, last if before is None else before, level)


def _framed(plane: np.ndarray, level: float) -> np.ndarray:
    """The plane kept clear of the level, with one sample more around it."""
    signed = np.asarray(plane, np.float32) - np.float32(level)
    cleared = level + np.where(signed > 0, 1, -1) * np.clip(np.abs(signed), CLEARANCE, 1)
    framed = np.pad(cleared.astype(np.float32), 1, mode="edge")
    for rows in (framed, framed.T):
        rows[0] = _beyond(rows[1], rows[min(2, len(rows) - 2)], level)
        rows[-1] = _beyond(rows[-2], rows[max(-3, 1 - len(rows))], level)
    return framed


def _beyond(last: np.ndarray, before: np.ndarray, level: float) -> np.ndarray:
    """Samples outside the grid: as the last two lead to expect, and as far outside as the last is inside, at least."""
    mirrored = level - np.abs(last - level)
    return np.maximum(np.minimum(2 * last - before, mirrored), level - 1).astype(np.float32)


def _surface(slab: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    if not slab.min() < level < slab.max():
        return np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int64)
    marching_cubes = need("shape", "skimage.measure").marching_cubes

    vertices, faces, _, _ = marching_cubes(slab, level, gradient_direction="ascent")
    return vertices, faces.astype(np.int64)


class _Joined:
    """Surfaces of successive slabs, joined at the planes they share."""

    def __init__(self) -> None:
        self.vertices: list[np.ndarray] = []
        self.faces: list[np.ndarray] = []
        self.count = 0
        self.face_count = 0
        self.seam = (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def add(self, vertices: np.ndarray, faces: np.ndarray, start: int, last: int) -> None:
        """`start` is the global index of the slab's first plane, `last` the local index of its last."""
        names = np.full(len(vertices), -1)
        below = np.flatnonzero(vertices[:, 0] == 0)
        if len(below):
            # Both slabs cut the same edges of the plane that they share.
            edges, owners = self.seam
            names[below] = owners[np.searchsorted(edges, _edge_names(vertices[below, 1:]))]
        fresh = names < 0
        names[fresh] = self.count + np.arange(int(fresh.sum()))
        self.count += int(fresh.sum())
        self.vertices.append(vertices[fresh].astype(np.float64) + np.array([start, -1, -1]))
        self.faces.append(names[faces])
        self.face_count += len(faces)
        above = np.flatnonzero(vertices[:, 0] == last)
        edges = _edge_names(vertices[above, 1:])
        order = np.argsort(edges)
        self.seam = edges[order], names[above][order]

    def mesh(self) -> Mesh | None:
        if not self.count:
            return None
        faces = np.concatenate(self.faces)
        faces = faces[(faces != np.roll(faces, 1, axis=1)).all(1)]
        return Mesh(np.concatenate(self.vertices), faces) if len(faces) else None


def _edge_names(points: np.ndarray) -> np.ndarray:
    """A number for the grid edge of a plane that each point (n, 2) lies on: its direction and its lower end."""
    whole = np.rint(points)
    along_first = np.abs(points - whole)[:, 0] > np.abs(points - whole)[:, 1]
    ends = np.where([along_first, ~along_first], np.floor(points.T), whole.T).astype(np.int64)
    return (ends[0] << 32) + (ends[1] << 1) + along_first
