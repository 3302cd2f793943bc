"""The definition of the weighted squared error."""

from __future__ import annotations

import torch
from torch import Tensor


def weighted_squared_error_reference(prediction: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """sum_i w_i |p_i - y_i|^2 / c."""
    error = (prediction - target).square().mean(-1)
    return torch.dot(error, weight.to(error.dtype))
