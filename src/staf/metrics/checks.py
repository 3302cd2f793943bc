"""What measures check first: the pair of tensors, and the range of the data."""

from __future__ import annotations

import math

from torch import Tensor


def check_pair(prediction: Tensor, target: Tensor) -> None:
    """Refuse what is not a tensor, and tensors of different shapes.

    >>> import torch
    >>> check_pair(torch.zeros(2), torch.zeros(3))
    Traceback (most recent call last):
    ...
    ValueError: prediction and target must have the same shape, got (2,) and (3,)
    """
    for name, value in (("prediction", prediction), ("target", target)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a tensor, got {type(value).__name__}")
    if prediction.shape != target.shape:
        raise ValueError(
            f"prediction and target must have the same shape, got {tuple(prediction.shape)} and {tuple(target.shape)}"
        )


def limits(data_range: float | tuple[float, float]) -> tuple[float, float]:
    """The pair (low, high) that `data_range` means: a peak p is (0, p).

    >>> limits(1.0), limits((-1.0, 1.0))
    ((0.0, 1.0), (-1.0, 1.0))
    """
    low, high = data_range if isinstance(data_range, tuple) else (0.0, data_range)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"data_range must be a positive peak or an increasing pair (low, high), got {data_range!r}")
    return float(low), float(high)
