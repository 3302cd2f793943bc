"""Derivatives of `composite`: kernels for the first, the formula for derivatives of derivatives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import note
from staf.ops.volume_rendering.reference import composite_reference


class Composite(Function):
    """`Composite.apply(density, colour, distance, width, start, count, background, stop)`."""

    @staticmethod
    def forward(
        density: Tensor,
        colour: Tensor,
        distance: Tensor,
        width: Tensor,
        start: Tensor,
        count: Tensor,
        background: Tensor,
        stop: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        from staf.ops.volume_rendering import triton

        note("composite", "triton")
        return triton.composite(density, colour, distance, width, start, count, background, stop)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.stop = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        density, colour, distance, width, start, count, background = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        if torch.is_grad_enabled():
            leaves = [t for t, asked in zip(ctx.saved_tensors, wanted, strict=False) if asked]
            outputs = composite_reference(density, colour, distance, width, start, count, background, ctx.stop)
            found = iter(torch.autograd.grad(outputs, leaves, grads, create_graph=True, allow_unused=True))
            return *(next(found) if asked else None for asked in wanted[:7]), None
        from staf.ops.volume_rendering import triton

        in_density, in_colour, in_distance, in_width, in_background = triton.composite_gradients(
            grads, density, colour, distance, width, start, count, background, ctx.stop, wanted
        )
        return in_density, in_colour, in_distance, in_width, None, None, in_background, None
