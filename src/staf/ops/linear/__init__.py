"""`linear`: the layer y = x W^T + b, in a precision that a context chooses while a fit runs."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from staf._typing import Float
from staf.ops.linear.precision import ProductPrecision, current_precision, product_precision

__all__ = ["ProductPrecision", "current_precision", "linear", "product_precision"]


def linear(
    x: Float[Tensor, "*points k"], weight: Float[Tensor, "m k"], bias: Float[Tensor, " m"] | None = None
) -> Float[Tensor, "*points m"]:
    """y = x W^T + b.

    Inside a `product_precision` block, float32 tensors on CUDA go through kernels of that precision; up to 8 inputs
    (coordinates) are always multiplied exactly. Everywhere else this is `torch.nn.functional.linear`. The kernels have
    gradients of every order and `vmap`; forward mode raises.

    >>> linear(torch.ones(4, 2), torch.ones(3, 2), torch.zeros(3)).tolist()[0]
    [2.0, 2.0, 2.0]
    """
    precision = current_precision()
    fused = (
        precision is not None
        and x.is_cuda
        and x.dim() >= 2
        and x.dtype == weight.dtype == torch.float32
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cuda")
    )
    if not fused:
        return functional.linear(x, weight, bias)
    from staf.ops.linear.autograd import Product

    shape = x.shape[:-1]
    flat = x.reshape(1, -1, x.shape[-1])
    out = Product.apply(flat, weight[None], None if bias is None else bias[None], precision)
    return out.reshape(*shape, weight.shape[0])
