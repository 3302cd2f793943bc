"""The formula of a linear layer."""

from __future__ import annotations

from torch import Tensor


def linear_reference(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y = x W^T + b with x (..., k), W (m, k), b (m,)."""
    product = x @ weight.mT
    return product if bias is None else product + bias
