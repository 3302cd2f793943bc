"""Derivatives of a network of wavelets: fused passes once, and the formula's own derivatives beyond that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import have_memory, note
from staf.ops.gabor.autograd import composed
from staf.ops.gabor.reference import gabor_reference
from staf.ops.gabor_network import passes
from staf.ops.linear.autograd import merged


@dataclass(frozen=True)
class Options:
    """Precision, the wavelets' frequencies by layer and their width, and the number of maps in each layer."""

    precision: str
    omega0: tuple[float, ...]
    sigma0: float
    maps: int


class GaborNetwork(Function):
    """`GaborNetwork.apply(options, keep, x, *tensors)`: the values, then what the gradients need where `keep`.

    x (networks, n, inputs); tensors are those of `passes.Network`, layer by layer, then the output's weight and bias.
    """

    @staticmethod
    def forward(*inputs: Any) -> Any:
        options, keep, x, *tensors = inputs
        # Only tests come here with a CPU's tensors.
        note("gabor_network", "triton" if x.is_cuda else "loop")
        with torch.cuda.device(x.device if x.is_cuda else -1):
            out, inners, activations = passes.value(x, _network(options, tensors), options.precision, keep)
        return out, *inners, *activations

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.options, ctx.keep, *tensors = inputs
        ctx.save_for_backward(*tensors, *output[1:])
        ctx.mark_non_differentiable(*output[1:])
        # Nobody has a gradient for the other outputs, and zeros for them would have to be written.
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        options, saved = ctx.options, ctx.saved_tensors
        count = 1 + 2 * options.maps * len(options.omega0) + 2
        (x, *tensors), kept = saved[:count], saved[count:]
        network, of_input = _network(options, tensors), ctx.needs_input_grad[2]
        # Derivatives of this one are asked for exactly where gradients are being recorded now.
        fused = ctx.keep and not torch.is_grad_enabled() and have_memory([grads[0], *saved])
        if not fused:
            return None, None, *_composed(grads[0], x, network, of_input)
        inners, activations = kept[: len(network.layers)], kept[len(network.layers) :]
        with torch.cuda.device(x.device if x.is_cuda else -1):
            in_x, found = passes.gradients(grads[0], x, network, inners, activations, options.precision, of_input)
        return None, None, in_x, *found

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        out, *kept = GaborNetwork.apply(*merged(info.batch_size, in_dims, inputs))
        return (out.unflatten(0, (info.batch_size, -1)), *kept), (0, *[None] * len(kept))


def _network(options: Options, tensors: Sequence[Tensor]) -> passes.Network:
    *flat, output, bias = tensors
    each = 2 * options.maps
    layers = [tuple(flat[index : index + each]) for index in range(0, len(flat), each)]
    return passes.Network(layers, output, bias, options.omega0, options.sigma0)


def _composed(grad: Tensor, x: Tensor, network: passes.Network, of_input: bool) -> tuple[Tensor | None, ...]:
    """The gradients by operations that have derivatives of every order themselves."""
    activations, inners = [x], []
    for omega0, layer in zip(network.omega0, network.layers, strict=True):
        inner = [
            activations[-1] @ weight.mT + bias[:, None] for weight, bias in zip(layer[::2], layer[1::2], strict=True)
        ]
        inners.append(inner)
        window = inner[1] if len(inner) == 2 else None
        activations.append(gabor_reference(inner[0], omega0, network.sigma0, window))
    flowing = grad.to(network.output.dtype)
    found: list[Tensor | None] = [*_sums(flowing, activations.pop())]
    flowing = flowing @ network.output.conj()
    for omega0, layer in zip(network.omega0[::-1], network.layers[::-1], strict=True):
        inner = inners.pop()
        window = inner[1] if len(inner) == 2 else None
        in_inner = [part for part in composed(flowing, inner[0], omega0, network.sigma0, window) if part is not None]
        below = activations.pop()
        found[:0] = [one for part in in_inner for one in _sums(part, below)]
        if inners or of_input:
            parts = [part @ weight.conj() for part, weight in zip(in_inner, layer[::2], strict=True)]
            flowing = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return flowing if of_input else None, *found


def _sums(grad: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    return grad.mT @ x.conj(), grad.sum(1)
