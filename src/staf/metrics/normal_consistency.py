"""Normal consistency: how well the directions of two surfaces agree."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float


def normal_consistency(first: Float[Tensor, "n 3"], second: Float[Tensor, "n 3"]) -> Float[Tensor, ""]:
    """mean_i |cos(angle between first_i and second_i)|, in [0, 1]: 1 where every pair is parallel.

    The pairs are normals at a point of one surface and at the nearest point of the other; the usual metric is the mean
    of both directions (`kinds.shape.measures`). Lengths and signs do not matter. A zero vector counts as 0.

    >>> normal_consistency(torch.tensor([[0.0, 0, 2], [1, 0, 0]]), torch.tensor([[0.0, 0, -1], [0, 1, 0]])).item()
    0.5
    """
    if first.shape != second.shape or first.ndim != 2 or first.shape[1] != 3 or len(first) == 0:
        raise ValueError(
            f"first and second must have the same shape (n, 3), n at least 1, got {tuple(first.shape)} and "
            f"{tuple(second.shape)}"
        )
    x, y = (torch.nn.functional.normalize(normals.double(), dim=1) for normals in (first, second))
    return (x * y).sum(1).abs().mean()
