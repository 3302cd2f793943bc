"""The Gaussian activation as its formula says."""

from __future__ import annotations

import torch
from torch import Tensor


def reference(x: Tensor, sigma: float) -> Tensor:
    """exp(-(sigma x)^2)."""
    return torch.exp(-((sigma * x) ** 2))
