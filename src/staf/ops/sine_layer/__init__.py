"""`sine_layer`: a linear layer and the sine series above it as one operation, which saves passes over memory."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float
from staf.ops.backend import choose, fused_allowed, is_traced, values_only
from staf.ops.linear import current_precision, linear
from staf.ops.sine_series import sine_series

# What the kernels take: inputs, terms and widths. More of them are rare, or have little to gain.
MOST_INPUTS, MOST_TERMS, WIDTHS = 4, 8, (128, 256, 512)

__all__ = ["sine_layer"]


def sine_layer(
    x: Float[Tensor, "*points k"],
    weight: Float[Tensor, "m k"],
    bias: Float[Tensor, " m"],
    amplitude: Float[Tensor, "*set terms"],
    frequency: Float[Tensor, "*set terms"],
    phase: Float[Tensor, "*set terms"],
) -> Float[Tensor, "*points m"]:
    """rho(x W^T + b), with rho of `sine_series`; the same numbers as `sine_series(linear(x, weight, bias), ...)`.

    Inside a `product_precision` block on CUDA, in float32, with one set of up to 8 terms and 128, 256 or 512 neurons:

    - Of up to 4 coordinates, neither x W^T + b nor its gradient is kept in memory: both are a few multiplications away
      from what is read anyway.
    - Of hidden layers of several networks (`vmap`) beside products of ten bits, the bias is added by the sines.

    Everywhere else it is those two operations, and so are derivatives by coordinates and derivatives of derivatives.
    Forward mode raises where `linear` does.

    >>> c, w, p = torch.ones(1), torch.full((1,), 30.0), torch.zeros(1)
    >>> sine_layer(torch.zeros(5, 2), torch.ones(8, 2), torch.zeros(8), c, w, p).shape
    torch.Size([5, 8])
    """
    sinusoids = (amplitude, frequency, phase)
    precision = current_precision()
    coordinates = x.shape[-1] <= MOST_INPUTS and not x.requires_grad
    several = precision == "tf32" and x.shape[-1] in WIDTHS and torch._C._functorch.is_batchedtensor(weight)
    if not (coordinates or several) or not _is_fused(x, weight, bias, *sinusoids):
        return sine_series(linear(x, weight, bias), *sinusoids)
    from staf.ops.sine_layer.autograd import Biased, Coordinates

    tensors = (x.reshape(1, -1, x.shape[-1]), weight[None], bias[None], *(part[None, None] for part in sinusoids))
    if several:
        out = Biased.apply(*tensors, precision)[0]
    else:
        plain = values_only(x, weight, bias, *sinusoids)
        out = Coordinates.forward(*tensors) if plain else Coordinates.apply(*tensors)
    return out.reshape(*x.shape[:-1], weight.shape[0])


def _is_fused(x: Tensor, weight: Tensor, bias: Tensor, *sinusoids: Tensor) -> bool:
    return (
        x.is_cuda
        and fused_allowed()
        and not is_traced()
        and not torch.is_autocast_enabled("cuda")
        and x.dim() >= 2
        and weight.shape[0] in WIDTHS
        and sinusoids[0].dim() == 1
        and sinusoids[0].shape[0] <= MOST_TERMS
        and all(tensor.dtype == torch.float32 for tensor in (x, weight, bias, *sinusoids))
        and choose("sine_layer", x) == "triton"
    )
