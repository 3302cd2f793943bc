"""Derivatives of both kinds of layer: fused kernels once, and the two operations' own derivatives beyond that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import have_memory, note
from staf.ops.linear.autograd import FEW_POINTS, Product, Sums, merged
from staf.ops.sine_series.autograd import Gradients, Value

EXACT = "fp32"


class Coordinates(Function):
    """`Coordinates.apply(x, weight, bias, amplitude, frequency, phase)`.

    x (networks, m, k), weight (networks, n, k), bias (networks, n), sinusoids (networks, 1, terms) to (networks, m, n).
    """

    @staticmethod
    def forward(*tensors: Tensor) -> Tensor:
        from staf.ops.sine_layer import triton

        note("sine_layer", "triton")
        return triton.value(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, weight, bias, *sinusoids = ctx.saved_tensors
        of_input = ctx.needs_input_grad[0]
        # Derivatives of this one are asked for exactly where gradients are being recorded now.
        if not of_input and not torch.is_grad_enabled() and have_memory([grads[0], *ctx.saved_tensors]):
            from staf.ops.sine_layer import triton

            return None, *triton.gradients(grads[0], x, weight, bias, *sinusoids)
        return _composed(grads[0], x, weight, bias, sinusoids, EXACT, of_input)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return Coordinates.apply(*merged(info.batch_size, in_dims, inputs)).unflatten(0, (info.batch_size, -1)), 0


class Biased(Function):
    """`Biased.apply(x, weight, bias, amplitude, frequency, phase, precision)`: the layer, and x W^T as it keeps it.

    For hidden layers of several networks. The bias is added where the sines read their numbers: cuBLAS would write the
    biases of all networks to the result first, and a product of our own that adds them is slower than cuBLAS by more
    than the sines are by this.
    """

    @staticmethod
    def forward(*inputs: Any) -> Any:
        from staf.ops.sine_series import triton

        x, weight, bias, c, omega, phi, precision = inputs
        inner = Product.forward(x, weight, None, precision)
        note("sine_layer", "triton")
        return triton.value(inner, c, omega, phi, bias=bias.contiguous()), inner

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.precision = inputs
        ctx.save_for_backward(*tensors, output[1])
        ctx.mark_non_differentiable(output[1])
        # Nobody has a gradient for the second output, and zeros for it would have to be written.
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, weight, bias, c, omega, phi, inner = ctx.saved_tensors
        of_input = ctx.needs_input_grad[0]
        if torch.is_grad_enabled() or not have_memory([grads[0], *ctx.saved_tensors]):
            return *_composed(grads[0], x, weight, bias, (c, omega, phi), ctx.precision, of_input), None
        from staf.ops.sine_series import triton

        in_inner, *in_sinusoids = triton.gradients(grads[0], inner, c, omega, phi, bias=bias.contiguous())
        in_x = Product.forward(in_inner, weight.mT, None, ctx.precision) if of_input else None
        return in_x, *Sums.forward(in_inner, x, ctx.precision), *in_sinusoids, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        x, weight, bias, *sinusoids, precision = merged(info.batch_size, in_dims, inputs)
        if x.shape[0] * x.shape[1] > FEW_POINTS:
            outputs = Biased.apply(x, weight, bias, *sinusoids, precision)
        else:
            inner = Product.apply(x, weight, bias, precision)
            outputs = Value.apply(inner, *sinusoids, "triton"), inner.detach()
        return tuple(out.unflatten(0, (info.batch_size, -1)) for out in outputs), (0, 0)


def _composed(
    grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor, sinusoids: Sequence[Tensor], precision: str, of_input: bool
) -> tuple[Tensor | None, ...]:
    """The gradients by operations that have derivatives of every order themselves."""
    inner = Product.apply(x, weight, bias, precision)
    in_inner, *in_sinusoids = Gradients.apply(grad, inner, *sinusoids, "triton")
    in_x = Product.apply(in_inner, weight.mT, None, precision) if of_input else None
    return in_x, *Sums.apply(in_inner, x, precision), *in_sinusoids
