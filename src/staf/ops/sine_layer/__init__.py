"""`sine_layer`: a linear layer and the sine series above it, in one pass where the layer's inputs are coordinates."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float
from staf.ops.backend import choose, values_only
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
    """rho(x W^T + b), with rho of `sine_series`.

    Inside a `product_precision` block, float32 coordinates on CUDA (up to 4 inputs, one set of up to 8 terms, 128, 256
    or 512 neurons) go through kernels that keep neither x W^T + b nor its gradient in memory: both are a few
    multiplications away from what is read anyway. Everywhere else this is `sine_series(linear(x, weight, bias), ...)`,
    and so are derivatives by x and derivatives of derivatives. Forward mode raises where `linear` does.

    >>> c, w, p = torch.ones(1), torch.full((1,), 30.0), torch.zeros(1)
    >>> sine_layer(torch.zeros(5, 2), torch.ones(8, 2), torch.zeros(8), c, w, p).shape
    torch.Size([5, 8])
    """
    sinusoids = (amplitude, frequency, phase)
    if not _is_fused(x, weight, bias, *sinusoids):
        return sine_series(linear(x, weight, bias), *sinusoids)
    from staf.ops.sine_layer.autograd import Layer

    tensors = (x.reshape(1, -1, x.shape[-1]), weight[None], bias[None], *(part[None, None] for part in sinusoids))
    plain = values_only(x, weight, bias, *sinusoids)
    out = Layer.forward(*tensors) if plain else Layer.apply(*tensors)
    return out.reshape(*x.shape[:-1], weight.shape[0])


def _is_fused(x: Tensor, weight: Tensor, bias: Tensor, *sinusoids: Tensor) -> bool:
    return (
        x.is_cuda
        and current_precision() is not None
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cuda")
        and not x.requires_grad
        and x.dim() >= 2
        and x.shape[-1] <= MOST_INPUTS
        and weight.shape[0] in WIDTHS
        and sinusoids[0].dim() == 1
        and sinusoids[0].shape[0] <= MOST_TERMS
        and all(tensor.dtype == torch.float32 for tensor in (x, weight, bias, *sinusoids))
        and choose("sine_layer", x) == "triton"
    )
