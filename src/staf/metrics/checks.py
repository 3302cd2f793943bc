"""What measures of two tensors check first."""

from __future__ import annotations

from torch import Tensor


def check_pair(prediction: Tensor, target: Tensor) -> None:
    """Refuse what is no tensor, and two shapes.

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
