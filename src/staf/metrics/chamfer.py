"""Chamfer distance of two point clouds."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from staf._extras import need
from staf._typing import Float


def chamfer(first: Float[Tensor, "n d"], second: Float[Tensor, "m d"]) -> Float[Tensor, ""]:
    """mean_i min_j |x_i - y_j|^2 + mean_j min_i |x_i - y_j|^2, the squared, two-sided form.

    For surfaces, the points are samples of equal density on both. The value depends on their number (two samplings of
    the same surface never have distance 0) and on the square of the unit of length, so state both with it. Neighbours
    are found exactly, in float64, with a k-d tree on the CPU; there is no gradient.

    >>> square = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> chamfer(square, square + torch.tensor([0.0, 0.125])).item()
    0.03125
    """
    for name, points in (("first", first), ("second", second)):
        if points.ndim != 2 or len(points) == 0:
            raise ValueError(f"{name} must have shape (n, d) with at least one point, got {tuple(points.shape)}")
        if not torch.isfinite(points).all():
            raise ValueError(f"{name} must hold numbers only, got NaN or Inf")
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"both clouds must have one dimension, got {first.shape[1]} and {second.shape[1]}")
    tree = need("shape", "scipy.spatial").KDTree

    x, y = (points.detach().cpu().double().numpy() for points in (first, second))
    forth, back = tree(y).query(x)[0], tree(x).query(y)[0]
    return torch.tensor(chamfer_of_distances(forth, back), dtype=torch.float64)


def chamfer_of_distances(forth: np.ndarray, back: np.ndarray) -> float:
    """The same of distances that are known: from points of the first to the second, and back.

    >>> chamfer_of_distances(np.array([0.0, 1.0]), np.array([0.5]))
    0.75
    """
    return float(np.square(forth).mean()) + float(np.square(back).mean())
