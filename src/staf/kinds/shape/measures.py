"""How far two surfaces are from each other, in distance and in direction."""

from __future__ import annotations

import numpy as np
import torch

from staf._extras import need
from staf.kinds.shape.mesh import Mesh
from staf.metrics import normal_consistency
from staf.metrics.chamfer import chamfer_of_distances

# Points on each surface.
SURFACE_POINTS = 100_000


def surface_measures(first: Mesh, second: Mesh, samples: int = SURFACE_POINTS, seed: int = 0) -> dict[str, float]:
    """Chamfer distance and normal consistency of two surfaces, from `samples` points on each.

    Points are drawn evenly by area; each is joined to the nearest point of the other **surface** (exact, on its faces
    and not among its samples, so two equal surfaces are 0 apart). With d the distances and n, m the unit normals:

        chamfer            = mean_first d^2 + mean_second d^2
        normal_consistency = (mean_first |n.m| + mean_second |n.m|) / 2

    Chamfer is in squared units of the meshes given; `Occupancy.evaluate` gives them in the cube, where the longest
    side of the target's box is 2. Normals are those of the faces.

    >>> from staf.kinds import Shape
    >>> ball = Shape.sphere().mesh
    >>> apart = surface_measures(ball, Mesh(ball.vertices * 1.01, ball.faces), samples=2000)
    >>> round(apart["chamfer"] * 1e4, 1), round(apart["normal_consistency"], 2)
    (2.0, 1.0)
    """
    generator = np.random.default_rng(seed)
    forth, agree_forth = _one_way(first, second, samples, generator)
    back, agree_back = _one_way(second, first, samples, generator)
    return {"chamfer": chamfer_of_distances(forth, back), "normal_consistency": (agree_forth + agree_back) / 2}


def surface_points(mesh: Mesh, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`count` points (n, 3) spread evenly over the surface, and the face of each (n,).

    Areas are divided into `count` equal parts with one point drawn in each, which spreads better than free draws.
    """
    ends = np.cumsum(mesh.areas())
    at = (np.arange(count) + generator.random(count)) * (ends[-1] / count)
    face = np.minimum(np.searchsorted(ends, at, side="right"), len(ends) - 1)
    u, v = np.sqrt(generator.random(count)), generator.random(count)
    weights = np.stack([1 - u, u * (1 - v), u * v], 1)
    return (weights[:, :, None] * mesh.corners[face]).sum(1), face


def distances(points: np.ndarray, mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """From points (n, 3) to the surface: the distance to its nearest point (n,), and the face that holds it (n,)."""
    point_cloud_utils = need("shape", "point_cloud_utils")

    arrays = (np.ascontiguousarray(array) for array in (points, mesh.vertices, mesh.faces))
    found, face, _ = point_cloud_utils.closest_points_on_mesh(*arrays)
    return np.asarray(found).reshape(-1), np.asarray(face).reshape(-1)


def _one_way(source: Mesh, other: Mesh, samples: int, generator: np.random.Generator) -> tuple[np.ndarray, float]:
    points, face = surface_points(source, samples, generator)
    found, nearest = distances(points, other)
    normals = (torch.from_numpy(mesh.face_normals()[faces]) for mesh, faces in ((source, face), (other, nearest)))
    return found, float(normal_consistency(*normals))
