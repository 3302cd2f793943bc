"""`linear`: the layer y = x W^T + b, in a precision that a context chooses."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from staf._typing import Float
from staf.ops.backend import forced_backend, fused_allowed, is_traced, note, reverse_mode_only, values_only
from staf.ops.linear.precision import ProductPrecision, current_precision, product_precision
from staf.ops.linear.reference import linear_reference

# From this many points on, a CPU product is worth choosing.
MANY_POINTS = 256

__all__ = ["ProductPrecision", "current_precision", "linear", "product_precision"]


def linear(
    x: Float[Tensor, "*points k"], weight: Float[Tensor, "m k"], bias: Float[Tensor, " m"] | None = None
) -> Float[Tensor, "*points m"]:
    """y = x W^T + b.

    Inside a `product_precision` block, float32 tensors on CUDA go through kernels of that precision; up to 8 inputs
    (coordinates) are always multiplied exactly. The kernels have gradients of every order and `vmap`; forward mode
    raises. On a CPU, many points inside a block take the fastest float32 product of their shape, outside `torch.func`
    and forward mode. Everywhere else this is `torch.nn.functional.linear`.

    >>> linear(torch.ones(4, 2), torch.ones(3, 2), torch.zeros(3)).tolist()[0]
    [2.0, 2.0, 2.0]
    """
    # What most calls for a few points on a CPU need to know, first.
    fused = (
        fused_allowed()
        and (x.is_cuda or x.numel() >= MANY_POINTS * weight.shape[1])
        and x.dim() >= 2
        and x.dtype == weight.dtype == torch.float32
        and not is_traced()
        and not torch.is_autocast_enabled(x.device.type)
    )
    if not fused:
        return _formula(x, weight, bias)
    plain = values_only(x, weight) if bias is None else values_only(x, weight, bias)
    forced = forced_backend()
    if x.is_cuda and forced != "compiled":
        out = _on_cuda(x.reshape(1, -1, x.shape[-1]), weight[None], None if bias is None else bias[None], plain)
    elif x.device.type == "cpu" and forced != "triton" and reverse_mode_only():
        out = _on_cpu(x.reshape(-1, x.shape[-1]), weight, bias, plain)
    else:
        return _formula(x, weight, bias)
    return out.reshape(*x.shape[:-1], weight.shape[0])


def _formula(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """torch's own layer, or the reference where it is forced."""
    if forced_backend() != "reference" or is_traced():
        return functional.linear(x, weight, bias)
    note("linear", "reference")
    return linear_reference(x, weight, bias)


def _on_cuda(x: Tensor, weight: Tensor, bias: Tensor | None, plain: bool) -> Tensor:
    """The product of a batch of one network; where no derivative can be asked (`plain`), without autograd's cost."""
    precision = current_precision()
    assert precision is not None
    if plain:
        from staf.ops.linear import triton

        note("linear", "triton")
        with torch.cuda.device(x.device):
            return triton.product(x, weight, bias, precision)
    from staf.ops.linear.autograd import Product

    return Product.apply(x, weight, bias, precision)


def _on_cpu(x: Tensor, weight: Tensor, bias: Tensor | None, plain: bool) -> Tensor:
    if plain:
        from staf.ops.linear import cpu

        return cpu.product(x, weight, bias)
    from staf.ops.linear.cpu_autograd import Layer

    return Layer.apply(x, weight, bias)
