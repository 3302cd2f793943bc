"""Derivatives of the weighted squared error: a kernel for the first by the prediction, the formula for all others."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import note


class SquaredError(Function):
    """`SquaredError.apply(prediction, target, weight)`: (networks, n, c) twice and (networks, n) to (networks,)."""

    @staticmethod
    def forward(prediction: Tensor, target: Tensor, weight: Tensor) -> Tensor:
        from staf.ops.squared_error import triton

        note("squared_error", "triton")
        return triton.value(prediction, target, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        prediction, target, weight = ctx.saved_tensors
        (grad,) = grads
        wanted = ctx.needs_input_grad
        if not torch.is_grad_enabled() and not any(wanted[1:]):
            from staf.ops.squared_error import triton

            return triton.gradient(grad, prediction, target, weight), None, None
        difference = prediction - target
        scaled = grad[:, None] * weight
        in_prediction = 2 / prediction.shape[2] * scaled[:, :, None] * difference
        in_weight = grad[:, None] * difference.square().mean(-1) if wanted[2] else None
        return in_prediction if wanted[0] else None, -in_prediction if wanted[1] else None, in_weight

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        size = info.batch_size
        mapped = [
            (tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)).flatten(0, 1)
            for tensor, dim in zip(inputs, in_dims, strict=True)
        ]
        return SquaredError.apply(*mapped).unflatten(0, (size, -1)), 0
