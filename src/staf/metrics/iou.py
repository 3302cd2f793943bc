"""Intersection over union of two volumes."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Bool, Float
from staf.metrics.checks import check_pair


def iou(prediction: Bool[Tensor, "*shape"], target: Bool[Tensor, "*shape"]) -> Float[Tensor, ""]:
    """|A and B| / |A or B| of two occupancies at the same points, in [0, 1]; it is 1 for two empty ones.

    A field's values become an occupancy by a threshold, 0.5 for targets of 0 and 1: `iou(values > 0.5, target)`.
    Counts are exact at any size.

    >>> iou(torch.tensor([True, True, False]), torch.tensor([False, True, True])).item() == 1 / 3
    True
    """
    check_pair(prediction, target)
    shared, union = overlap(prediction, target)
    return torch.tensor(shared / union if union else 1.0, dtype=torch.float64, device=prediction.device)


def overlap(prediction: Tensor, target: Tensor) -> tuple[int, int]:
    """|A and B| and |A or B| of two bool tensors; those of parts add up, so that a volume is counted plane by plane.

    >>> overlap(torch.tensor([True, True, False]), torch.tensor([False, True, True]))
    (1, 3)
    """
    return int(torch.count_nonzero(prediction & target)), int(torch.count_nonzero(prediction | target))
