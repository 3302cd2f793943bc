"""Derivatives of the layer on coordinates: the fused kernel once, and the two layers' own derivatives beyond that."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import have_memory, note
from staf.ops.linear.autograd import Product, Sums, merged
from staf.ops.sine_series.autograd import Gradients

EXACT = "fp32"


class Layer(Function):
    """`Layer.apply(x, weight, bias, amplitude, frequency, phase)`.

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
        inner = Product.apply(x, weight, bias, EXACT)
        in_inner, *in_sinusoids = Gradients.apply(grads[0], inner, *sinusoids, "triton")
        in_x = Product.apply(in_inner, weight.mT, None, EXACT) if of_input else None
        return in_x, *Sums.apply(in_inner, x, EXACT), *in_sinusoids

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return Layer.apply(*merged(info.batch_size, in_dims, inputs)).unflatten(0, (info.batch_size, -1)), 0
