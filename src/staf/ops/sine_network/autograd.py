"""Derivatives of a network: fused kernels once, and the single operations' own derivatives beyond that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import have_memory, note
from staf.ops.linear.autograd import Product, Sums, merged
from staf.ops.pointwise import Activation, Derivative, Slope
from staf.ops.sine_series.autograd import Gradients, Value

EXACT = "fp32"


@dataclass(frozen=True)
class Fixed:
    """An activation without parameters, and its constant in each layer."""

    phi: Activation
    constants: tuple[float, ...]


class SineNetwork(Function):
    """`SineNetwork.apply(precision, keep, fixed, x, *tensors)`: the values, and what the gradients need where `keep`.

    x (networks, m, k); tensors are weight (networks, n, k), bias (networks, n) and sinusoids (networks, 1, terms) of
    each layer, then the output layer's weight (networks, c, n) and bias (networks, c). A `fixed` activation's constants
    are the frequencies of single terms.
    """

    @staticmethod
    def forward(*inputs: Any) -> Any:
        from staf.ops.sine_network import tiles, triton

        precision, keep, fixed, x, *tensors = inputs
        note("sine_network", "triton")
        layers, output, bias = _parts(tensors)
        given = [tiles.Layer(*layer) for layer in layers]
        return triton.value(x, given, output.contiguous(), bias.contiguous(), precision == "bf16x3", keep, _kind(fixed))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.precision, ctx.keep, ctx.fixed, *tensors = inputs
        ctx.save_for_backward(*tensors, *output[1:])
        ctx.mark_non_differentiable(*output[1:])
        # Nobody has a gradient for the other outputs, and zeros for them would have to be written.
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, *saved = ctx.saved_tensors
        tensors, kept = saved[:-4], saved[-4:]
        layers, output, _ = _parts(tensors)
        of_input = ctx.needs_input_grad[3]
        # Derivatives of this one are asked for exactly where gradients are being recorded now.
        fused = ctx.keep and not of_input and not torch.is_grad_enabled() and have_memory([grads[0], x, *saved])
        if not fused:
            return None, None, None, *_composed(grads[0], x, layers, output, ctx.precision, ctx.fixed, of_input)
        from staf.ops.sine_network import gradients, tiles

        trained = [any(ctx.needs_input_grad[4 + 5 * i + 2 : 4 + 5 * i + 5]) for i in range(len(layers))]
        given = [tiles.Layer(*layer) for layer in layers]
        split = ctx.precision == "bf16x3"
        kept = tiles.Kept(*kept)
        kind = _kind(ctx.fixed)
        found = gradients.gradients(grads[0], x, given, output.contiguous(), kept, split, trained, kind)
        return None, None, None, None, *found

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        out, *kept = SineNetwork.apply(*merged(info.batch_size, in_dims, inputs))
        return (out.unflatten(0, (info.batch_size, -1)), *kept), (0, *[None] * len(kept))


def _kind(fixed: Fixed | None) -> int:
    from staf.ops.pointwise_triton import KINDS

    return 0 if fixed is None else KINDS[fixed.phi.name]


def _parts(tensors: Sequence[Tensor]) -> tuple[list[tuple[Tensor, ...]], Tensor, Tensor]:
    """The layers, and the output layer's weight and bias."""
    *flat, output, bias = tensors
    return [tuple(flat[index : index + 5]) for index in range(0, len(flat), 5)], output, bias


def _composed(
    grad: Tensor,
    x: Tensor,
    layers: Sequence[tuple[Tensor, ...]],
    output: Tensor,
    precision: str,
    fixed: Fixed | None,
    of_input: bool,
) -> tuple[Tensor | None, ...]:
    """The gradients by operations that have derivatives of every order themselves."""
    activations: list[Tensor] = [x]
    inners: list[Tensor] = []
    for weight, bias, *sinusoids in layers:
        inners.append(Product.apply(activations[-1], weight, bias, precision if inners else EXACT))
        if fixed is None:
            activations.append(Value.apply(inners[-1], *sinusoids, "triton"))
        else:
            constant = fixed.constants[len(inners) - 1]
            activations.append(Derivative.apply(inners[-1], fixed.phi, constant, 0, "triton"))
    found: list[Tensor | None] = [*Sums.apply(grad, activations.pop(), precision)]
    grad = Product.apply(grad, output.mT, None, precision)
    for index in reversed(range(len(layers))):
        weight, _, *sinusoids = layers[index]
        in_sinusoids: Sequence[Tensor | None] = (None, None, None)
        if fixed is None:
            in_inner, *in_sinusoids = Gradients.apply(grad, inners.pop(), *sinusoids, "triton")
        else:
            in_inner = Slope.apply(grad, inners.pop(), fixed.phi, fixed.constants[index], "triton")
        exactness = precision if index else EXACT
        found[:0] = [*Sums.apply(in_inner, activations.pop(), exactness), *in_sinusoids]
        if index or of_input:
            grad = Product.apply(in_inner, weight.mT, None, exactness)
    return grad if of_input else None, *found
