"""The compiled CPU kernels of `sine`, `finer` and `gauss`, for float32."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.ops import native

KINDS = {"sine": 0, "finer": 1, "gauss": 2}


def scaled_derivative(grad: Tensor | None, x: Tensor, name: str, constant: float, order: int) -> Tensor:
    """grad phi^(order)(x), or phi^(order)(x) where grad is None, for orders 0 to 2."""
    x = x.contiguous()
    grad = None if grad is None else grad.contiguous()
    out = torch.empty_like(x)
    source = None if grad is None else grad.data_ptr()
    kernels = native.library(required=True)
    assert kernels is not None
    threads = native.thread_count(x.numel())
    kernels.staf_pointwise(source, x.data_ptr(), out.data_ptr(), x.numel(), KINDS[name], order, constant, threads)
    return out
