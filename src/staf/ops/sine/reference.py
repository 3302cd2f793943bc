"""SIREN's activation as its formula says."""

from __future__ import annotations

import torch
from torch import Tensor


def reference(x: Tensor, omega0: float) -> Tensor:
    """sin(omega0 x)."""
    return torch.sin(omega0 * x)
