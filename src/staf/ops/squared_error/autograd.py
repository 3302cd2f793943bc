"""Derivatives of the weighted squared error: a kernel for the first by the prediction, the formula for all others."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops import column_sums
from staf.ops.backend import have_memory, note

ONES = "staf_ones"


def ones(networks: int, device: torch.device) -> Tensor:
    """(networks,) ones. A backward pass that begins with them takes the gradient as the forward pass has left it."""
    made = torch.ones(networks, device=device)
    column_sums.leave(made, torch.empty(0), ONES)
    return made


class SquaredError(Function):
    """`SquaredError.apply(prediction, target, weight, keep)`: (networks, n, c) twice and (networks, n) to (networks,).

    With `keep` the second result is the gradient in the prediction of the sum of the first.
    """

    @staticmethod
    def forward(prediction: Tensor, target: Tensor, weight: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
        from staf.ops.squared_error import triton

        note("squared_error", "triton")
        return triton.value(prediction, target, weight, keep)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.keep = inputs
        ctx.save_for_backward(*tensors, output[1])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        prediction, target, weight, known = ctx.saved_tensors
        grad = grads[0]
        wanted = ctx.needs_input_grad
        if ctx.keep and not torch.is_grad_enabled() and not any(wanted[1:]):
            is_plain = have_memory([grad]) and column_sums.found(grad, ONES) is not None
            return known if is_plain else grad[:, None, None] * known, None, None, None
        difference = prediction - target
        scaled = grad[:, None] * weight
        in_prediction = 2 / prediction.shape[2] * scaled[:, :, None] * difference
        in_weight = grad[:, None] * difference.square().mean(-1) if wanted[2] else None
        return in_prediction if wanted[0] else None, -in_prediction if wanted[1] else None, in_weight, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        size = info.batch_size
        *tensors, keep = inputs
        mapped = [
            (tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)).flatten(0, 1)
            for tensor, dim in zip(tensors, in_dims[:-1], strict=True)
        ]
        value, known = SquaredError.apply(*mapped, keep)
        return (value.unflatten(0, (size, -1)), known), (0, None)
