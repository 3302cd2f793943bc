"""The formula of a complex linear layer."""

from __future__ import annotations

from torch import Tensor


def complex_linear_reference(x: Tensor, weight: Tensor, bias: Tensor, real: bool = False) -> Tensor:
    """y = x W^T + b with complex x (..., k), W (m, k), b (m,); its real part alone where `real`."""
    product = x @ weight.mT + bias
    return product.real if real else product
