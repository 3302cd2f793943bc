"""Closing a surface that is nearly closed."""

from __future__ import annotations

import numpy as np

from staf.kinds.shape.mesh import Mesh, closure, merged

# Vertices closer than this share of the longest side are one.
WELD = 1e-6


def repaired(mesh: Mesh) -> tuple[Mesh, list[str]]:
    """The mesh with its seams welded, repeated faces dropped and holes closed, and notes of what was done.

    Vertices within 1e-6 of the longest side are merged. A hole is a loop of edges that have one face; a fan of faces
    from the loop's middle closes it, which is a guess wherever the hole is large. What a surface lacks to be closed
    always forms such loops, so the result is watertight.

    >>> faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3]])
    >>> mesh, notes = repaired(Mesh(np.vstack([np.zeros(3), np.eye(3)]), faces))
    >>> len(mesh.faces), notes
    (6, ['1 hole was closed with 3 faces'])
    """
    low, high = mesh.bounds
    result, _ = merged(mesh, grid=WELD * float((high - low).max()))
    notes = []
    close = len(np.unique(mesh.faces)) - len(result.vertices)
    if close > 0:
        notes.append(f"{close:,} vertices were merged with a neighbour")
    _, kept = np.unique(np.sort(result.faces, axis=1), axis=0, return_index=True)
    if len(kept) < len(result.faces):
        notes.append(f"{len(result.faces) - len(kept):,} repeated faces were dropped")
        result = Mesh(result.vertices, result.faces[np.sort(kept)])
    if not closure(result.faces).watertight:
        result, holes, added = _filled(result)
        notes.append(f"{holes:,} {'hole was' if holes == 1 else 'holes were'} closed with {added:,} faces")
    return result, notes


def _filled(mesh: Mesh) -> tuple[Mesh, int, int]:
    """Every loop of loose edges closed by a fan; returns the mesh, the loops and the faces added."""
    following: dict[int, list[int]] = {}
    for start, end in _loose_edges(mesh.faces):
        # Faces walk their edges one way; the lid walks them the other.
        following.setdefault(int(end), []).append(int(start))
    vertices, faces, loops = list(mesh.vertices), [mesh.faces], 0
    while following:
        path = [next(iter(following))]
        place = {path[0]: 0}
        while path[-1] in following:
            ahead = following[path[-1]]
            step = ahead.pop()
            if not ahead:
                del following[path[-1]]
            if step not in place:
                place[step] = len(path)
                path.append(step)
                continue
            ring = np.array(path[place[step] :])
            middle = np.full(len(ring), len(vertices))
            vertices.append(mesh.vertices[ring].mean(0))
            faces.append(np.stack([ring, np.roll(ring, -1), middle], 1))
            loops += 1
            for vertex in path[place[step] + 1 :]:
                del place[vertex]
            path = path[: place[step] + 1]
    whole = np.concatenate(faces)
    return Mesh(np.array(vertices), whole), loops, len(whole) - len(mesh.faces)


def _loose_edges(faces: np.ndarray) -> np.ndarray:
    """Directed edges (n, 2) whose opposite is walked less often."""
    starts, ends = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    size = int(faces.max()) + 1
    forth, count = np.unique(starts * size + ends, return_counts=True)
    back = (forth % size) * size + forth // size
    place = np.minimum(np.searchsorted(forth, back), len(forth) - 1)
    excess = count - np.where(forth[place] == back, count[place], 0)
    chosen = np.repeat(forth, np.maximum(excess, 0))
    return np.stack([chosen // size, chosen % size], 1)
