"""Normals of points that came without: planes through neighbours, turned to one side along a spanning tree."""

from __future__ import annotations

import numpy as np

from staf._extras import need
from staf.signals.errors import SignalError

NEIGHBOURS = 16


def estimated_normals(points: np.ndarray, neighbours: int = NEIGHBOURS) -> np.ndarray:
    """Unit normals (n, 3) of points (n, 3) on a surface, outward where the surface is closed and evenly sampled.

    Each is the direction in which its nearest points vary least (Hoppe et al. 1992). Signs are passed on along the
    minimum spanning tree of the neighbours, whose edges weigh 1 - |n.m|, from the highest point, where up is out.

    >>> ball = np.random.default_rng(0).normal(size=(500, 3))
    >>> ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    >>> bool((np.sum(estimated_normals(ball) * ball, 1) > 0.9).all())
    True
    """
    spatial, graph = need("shape", "scipy.spatial"), need("shape", "scipy.sparse.csgraph")
    sparse = need("shape", "scipy.sparse")
    count = len(points)
    if count < 4:
        raise SignalError(f"normals are estimated from at least 4 points, got {count}")
    nearest = spatial.cKDTree(points).query(points, k=min(neighbours, count))[1]
    around = points[nearest] - points[nearest].mean(1, keepdims=True)
    _, directions = np.linalg.eigh(np.einsum("nki,nkj->nij", around, around))
    normals = directions[:, :, 0]
    rows = np.repeat(np.arange(count), nearest.shape[1] - 1)
    columns = nearest[:, 1:].ravel()
    # A weight of zero would be no edge.
    weights = 1 - np.abs(np.sum(normals[rows] * normals[columns], 1)) + 1e-6
    tree = graph.minimum_spanning_tree(sparse.coo_matrix((weights, (rows, columns)), shape=(count, count)))
    pieces, piece_of = graph.connected_components(tree, directed=False)
    for piece in range(pieces):
        members = np.flatnonzero(piece_of == piece)
        top = members[points[members, 2].argmax()]
        if normals[top, 2] < 0:
            normals[top] = -normals[top]
        order, before = graph.breadth_first_order(tree, top, directed=False)
        for point in order[1:]:
            if normals[point] @ normals[before[point]] < 0:
                normals[point] = -normals[point]
    return normals
