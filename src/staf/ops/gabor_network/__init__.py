"""`gabor_network`: all layers of a WIRE network as one operation, whose products are those of real matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from staf._typing import Float
from staf.ops.backend import forced_backend, fused_allowed, has_triton, is_traced, values_only
from staf.ops.complex_linear import complex_linear
from staf.ops.gabor import gabor
from staf.ops.linear import current_precision, linear
from staf.ops.linear.autograd import COORDINATES

MOST_HIDDEN, MOST_NUMBERS = 16, 2**31

GaborLayer = tuple[Tensor, ...]

__all__ = ["GaborLayer", "gabor_network", "is_fused"]


def gabor_network(
    x: Float[Tensor, "*points k"],
    layers: Sequence[GaborLayer],
    weight: Tensor,
    bias: Tensor,
    omega0: Sequence[float],
    sigma0: float,
) -> Float[Tensor, "*points c"]:
    """Re(psi_L(... psi_1(x W_1^T + b_1) ... W_L^T + b_L) V^T + c): WIRE's wavelets psi, `ops.gabor`, layer by layer.

    `layers` are (W, b), or (W, b, U, d) with a second map whose window multiplies the wavelet of the first. Those of
    the first layer are real, (m, k) and (m,); all others are complex, (m, m) and (m,); V (c, m) and c (c,) are complex.

    Inside `product_precision("bf16x3")` or `("tf32")` on CUDA, in float32 and complex64, every hidden product is one of
    real matrices in that precision, and wavelets are one kernel each way. Coordinates (up to 8 inputs) that need a
    gradient, and everything else, take the single operations, layer by layer. Derivatives of derivatives are the
    formula's; forward mode raises where `linear` does.

    >>> layers = [(torch.ones(8, 2), torch.zeros(8)), (torch.ones(8, 8) + 0j, torch.zeros(8) + 0j)]
    >>> gabor_network(torch.zeros(5, 2), layers, torch.ones(3, 8) + 0j, torch.zeros(3) + 0j, [30.0, 30.0], 10.0).shape
    torch.Size([5, 3])
    """
    if len(omega0) != len(layers):
        raise ValueError(f"omega0 must have a frequency for each of {len(layers)} layers, got {len(omega0)}")
    precision = _scheme(x, layers, weight, bias)
    if precision is None:
        for frequency, (inner, shift, *window) in zip(omega0, layers, strict=True):
            orthogonal = _layer(x, window[0], window[1]) if window else None
            x = gabor(_layer(x, inner, shift), frequency, sigma0, orthogonal)
        return complex_linear(x, weight, bias, real=True)
    from staf.ops.gabor_network.autograd import GaborNetwork, Options

    options = Options(precision, tuple(omega0), sigma0, len(layers[0]) // 2)
    tensors = [tensor for layer in layers for tensor in layer] + [weight, bias]
    plain = values_only(x, *tensors)
    run = GaborNetwork.forward if plain else GaborNetwork.apply
    keep = torch.is_grad_enabled() and not plain
    out, *_ = run(options, keep, x.reshape(1, -1, x.shape[-1]), *(tensor[None] for tensor in tensors))
    return out.reshape(*x.shape[:-1], weight.shape[0])


def is_fused(x: Tensor, layers: Sequence[GaborLayer], weight: Tensor, bias: Tensor) -> bool:
    """Whether `gabor_network` is more than its layers one after the other for these arguments."""
    return _scheme(x, layers, weight, bias) is not None


def _layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return complex_linear(x, weight, bias) if weight.is_complex() else linear(x, weight, bias)


def _scheme(x: Tensor, layers: Sequence[GaborLayer], weight: Tensor, bias: Tensor) -> Literal["bf16x3", "tf32"] | None:
    """The precision of the fused passes, or None where they do not apply."""
    precision = current_precision()
    if not x.is_cuda or precision == "fp32" or precision is None or is_traced():
        return None
    width = layers[0][0].shape[0]
    hidden = [tensor for layer in layers[1:] for tensor in layer]
    fused = (
        fused_allowed()
        and forced_backend() != "compiled"
        and not torch.is_autocast_enabled("cuda")
        and x.dim() >= 2
        and (not x.requires_grad or x.shape[-1] > COORDINATES)
        and len(layers) <= MOST_HIDDEN + 1
        and 0 < x.shape[:-1].numel() * width < MOST_NUMBERS
        and all(layer[index].shape == (width, width) for layer in layers[1:] for index in range(0, len(layer), 2))
        and all(tensor.dtype == torch.float32 for tensor in (x, *layers[0]))
        and all(tensor.dtype == torch.complex64 for tensor in (*hidden, weight, bias))
        and has_triton()
        and _has_bfloat16(x.device.index)
    )
    return precision if fused else None


@functools.cache
def _has_bfloat16(index: int | None) -> bool:
    return torch.cuda.get_device_capability(index)[0] >= 8
