"""Checks shared by the operations: each names the argument, the rule and the value."""

from __future__ import annotations

import torch
from torch import Tensor


def under_autocast(x: Tensor) -> bool:
    """Whether autocast is on for the device of `x`."""
    return torch.is_autocast_enabled(x.device.type)


def check_floating(name: str, tensor: Tensor) -> None:
    """Refuse everything but tensors of float32 and float64."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(tensor).__name__}")
    if tensor.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"{name} must be float32 or float64, got {tensor.dtype}; "
            "half precision is taken for x alone, and only inside torch.autocast"
        )


def promoted(x: Tensor, dtype: torch.dtype) -> Tensor:
    """`x` in `dtype` if it is a half-precision tensor inside autocast, else `x` itself."""
    if isinstance(x, Tensor) and x.dtype in (torch.float16, torch.bfloat16) and under_autocast(x):
        return x.to(dtype)
    return x
