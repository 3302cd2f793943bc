"""`sine_network` and `fixed_network`: all layers of a network as one operation, which saves most passes over memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from staf._typing import Float
from staf.ops.backend import choose, is_traced, values_only
from staf.ops.finer import FINER, finer
from staf.ops.gauss import GAUSS, gauss
from staf.ops.linear import current_precision, linear
from staf.ops.pointwise import Activation
from staf.ops.sine_layer import sine_layer

# What the kernels take. More inputs, outputs or terms are rare, or have little to gain.
MOST_INPUTS, MOST_OUTPUTS, MOST_TERMS, MOST_HIDDEN = 4, 4, 8, 16
# Widths are multiples of this.
WIDTH = 64
MOST_NUMBERS = 2**30

SineLayer = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
FixedActivation = Callable[[Tensor, float], Tensor]
FIXED: dict[FixedActivation, Activation] = {finer: FINER, gauss: GAUSS}

__all__ = ["SineLayer", "fixed_network", "is_fixed_fused", "is_fused", "sine_network", "single_sine"]


def sine_network(
    x: Float[Tensor, "*points k"],
    layers: Sequence[SineLayer],
    weight: Float[Tensor, "c m"],
    bias: Float[Tensor, " c"],
) -> Float[Tensor, "*points c"]:
    """rho_L(... rho_1(x W_1^T + b_1) ... W_L^T + b_L) V^T + c, with `layers` of (W, b, C, Omega, Phi).

    The same numbers as one `sine_layer` after the other and a `linear` layer, which it is everywhere but here: inside
    `product_precision("bf16x3")` or `("tf32")` on a Hopper GPU, in float32, for up to 4 coordinates and 4 outputs, two
    or more layers of one width, a multiple of 64, each with one set of up to 8 terms. There numbers between layers are
    stored as they are multiplied: two bfloat16 planes, or one float16, whose ten bits are those of tf32.

    Gradients of every order and `vmap` are supported. Derivatives by coordinates and derivatives of derivatives are
    those of the single operations; forward mode raises where `linear` does.

    >>> sinusoids = (torch.ones(1), torch.full((1,), 30.0), torch.zeros(1))
    >>> layers = [(torch.ones(8, k), torch.zeros(8), *sinusoids) for k in (2, 8)]
    >>> sine_network(torch.zeros(5, 2), layers, torch.ones(3, 8), torch.zeros(3)).shape
    torch.Size([5, 3])
    """
    scheme = _scheme(x, layers, weight, bias)
    if scheme is None:
        for layer in layers:
            x = sine_layer(x, *layer)
        return linear(x, weight, bias)
    return _fused(scheme, x, layers, weight, bias, None)


def fixed_network(
    x: Float[Tensor, "*points k"],
    layers: Sequence[tuple[Tensor, Tensor]],
    weight: Float[Tensor, "c m"],
    bias: Float[Tensor, " c"],
    activation: FixedActivation,
    constants: Sequence[float],
) -> Float[Tensor, "*points c"]:
    """phi(... phi(x W_1^T + b_1, k_1) ... W_L^T + b_L, k_L) V^T + c, with `layers` of (W, b) and `constants` k.

    `activation` phi is `ops.finer` or `ops.gauss`. Where `sine_network` has fused kernels, so has this one; FINER's
    slope has no bound, which a float16 needs, so that it is fused for `product_precision("bf16x3")` alone.

    >>> layers = [(torch.ones(8, k), torch.zeros(8)) for k in (2, 8)]
    >>> fixed_network(torch.zeros(5, 2), layers, torch.ones(3, 8), torch.zeros(3), gauss, [10.0, 10.0]).shape
    torch.Size([5, 3])
    """
    scheme = _fixed_scheme(x, layers, weight, bias, activation, constants)
    if scheme is None:
        for (inner, shift), constant in zip(layers, constants, strict=True):
            x = activation(linear(x, inner, shift), constant)
        return linear(x, weight, bias)
    return _fused(scheme, x, _as_sines(layers, constants), weight, bias, (activation, tuple(constants)))


def is_fixed_fused(
    x: Tensor,
    layers: Sequence[tuple[Tensor, Tensor]],
    weight: Tensor,
    bias: Tensor,
    activation: FixedActivation,
    constants: Sequence[float],
) -> bool:
    """Whether `fixed_network` has a kernel for these arguments."""
    return _fixed_scheme(x, layers, weight, bias, activation, constants) is not None


def _fixed_scheme(
    x: Tensor,
    layers: Sequence[tuple[Tensor, Tensor]],
    weight: Tensor,
    bias: Tensor,
    activation: FixedActivation,
    constants: Sequence[float],
) -> Literal["bf16x3", "tf32"] | None:
    if not x.is_cuda or (activation is finer and current_precision() != "bf16x3"):
        return None
    return _scheme(x, _as_sines(layers, constants), weight, bias)


def _as_sines(layers: Sequence[tuple[Tensor, Tensor]], constants: Sequence[float]) -> list[SineLayer]:
    """The layers with each constant as the frequency of a single term."""
    return [
        (*layer, *single_sine(constant, layer[0].device)) for layer, constant in zip(layers, constants, strict=True)
    ]


@functools.cache
def single_sine(omega0: float, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """sin(omega0 x) as a series of one term that is not trained.

    >>> single_sine(30.0, torch.device("cpu"))
    (tensor([1.]), tensor([30.]), tensor([0.]))
    """
    with torch.inference_mode(False):
        return tuple(torch.tensor([value], device=device) for value in (1.0, omega0, 0.0))  # type: ignore[return-value]


def _fused(
    scheme: Literal["bf16x3", "tf32"],
    x: Tensor,
    layers: Sequence[SineLayer],
    weight: Tensor,
    bias: Tensor,
    fixed: tuple[FixedActivation, tuple[float, ...]] | None,
) -> Tensor:
    from staf.ops.sine_network.autograd import Fixed, SineNetwork

    options = None if fixed is None else Fixed(FIXED[fixed[0]], fixed[1])
    flat = [tensor[None] if index < 2 else tensor[None, None] for layer in layers for index, tensor in enumerate(layer)]
    tensors = (x.reshape(1, -1, x.shape[-1]), *flat, weight[None], bias[None])
    plain = values_only(x, weight, bias, *(tensor for layer in layers for tensor in layer))
    keep = torch.is_grad_enabled() and not plain
    run = SineNetwork.forward if plain else SineNetwork.apply
    out = run(scheme, keep, options, *tensors)
    return out[0].reshape(*x.shape[:-1], weight.shape[0])


def is_fused(x: Tensor, layers: Sequence[SineLayer], weight: Tensor, bias: Tensor) -> bool:
    """Whether `sine_network` has a kernel for these arguments, and is not merely its layers one after the other."""
    return _scheme(x, layers, weight, bias) is not None


def _scheme(x: Tensor, layers: Sequence[SineLayer], weight: Tensor, bias: Tensor) -> Literal["bf16x3", "tf32"] | None:
    """The precision of the fused kernels, or None where they do not apply."""
    precision = current_precision()
    if not x.is_cuda or precision == "fp32" or precision is None or is_traced():
        return None
    width = layers[0][0].shape[0]
    fused = (
        not torch.is_autocast_enabled("cuda")
        and not x.requires_grad
        and x.dim() >= 2
        and 1 <= x.shape[-1] <= MOST_INPUTS
        and 1 <= weight.shape[0] <= MOST_OUTPUTS
        and 2 <= len(layers) <= MOST_HIDDEN + 1
        and width % WIDTH == 0
        and 0 < x.shape[:-1].numel() * width < MOST_NUMBERS
        and all(layer[0].shape == (width, width) for layer in layers[1:])
        and all(layer[2].dim() == 1 and layer[2].shape[0] <= MOST_TERMS for layer in layers)
        and all(tensor.dtype == torch.float32 for layer in layers for tensor in layer)
        and x.dtype == weight.dtype == bias.dtype == torch.float32
        and _is_hopper(x.device.index)
        and choose("sine_network", x) == "triton"
    )
    return precision if fused else None


@functools.cache
def _is_hopper(index: int | None) -> bool:
    """Whether a GPU has the matrix units and copy engine that the kernels were written and timed for."""
    return torch.cuda.get_device_capability(index)[0] == 9
