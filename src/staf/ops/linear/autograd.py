"""Derivatives of the linear layer, closed under themselves: each backward is made of the same two operations.

product: y = a b^T + bias        its gradients: (g b, sums(g, a))
sums:    (g^T a, sum of g)       its gradients: (a h^T + h', g h)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import note
from staf.ops.linear.beside import side_by_side

# Up to this many inputs are coordinates, which are multiplied exactly.
COORDINATES = 8
# Up to this many points, of all networks together, a product leaves room on the GPU for another.
FEW_POINTS = 16_384


class Product(Function):
    """`Product.apply(a, b, bias or None, precision)`: a (networks, m, k), b (networks, n, k), bias (networks, n)."""

    @staticmethod
    def forward(a: Tensor, b: Tensor, bias: Tensor | None, precision: str) -> Tensor:
        from staf.ops.linear import triton

        note("linear", "triton")
        with torch.cuda.device(a.device):
            return triton.product(a, b, bias, precision)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.precision = inputs[3]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        a, b = ctx.saved_tensors
        (grad,) = grads
        of_input, of_weights = ctx.needs_input_grad[0], any(ctx.needs_input_grad[1:3])
        in_a, (in_b, in_bias) = side_by_side(
            lambda: Product.apply(grad, b.mT, None, _of_inputs(a, ctx.precision)) if of_input else None,
            lambda: Sums.apply(grad, a, ctx.precision) if of_weights else (None, None),
            fork=of_input and of_weights and a.shape[0] * a.shape[1] <= FEW_POINTS,
        )
        return in_a, in_b, in_bias if ctx.needs_input_grad[2] else None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return Product.apply(*merged(info.batch_size, in_dims, inputs)).unflatten(0, (info.batch_size, -1)), 0


class Sums(Function):
    """`Sums.apply(g, a, precision)` with g (networks, m, n), a (networks, m, k): the sums over m."""

    @staticmethod
    def forward(g: Tensor, a: Tensor, precision: str) -> tuple[Tensor, Tensor]:
        from staf.ops.linear import triton

        with torch.cuda.device(g.device):
            return triton.sums(g, a, precision)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.precision = inputs[2]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        g, a = ctx.saved_tensors
        in_weight, in_bias = grads
        in_g = Product.apply(a, in_weight, in_bias, ctx.precision) if ctx.needs_input_grad[0] else None
        in_a = None
        if ctx.needs_input_grad[1]:
            in_a = Product.apply(g, in_weight.mT, None, _of_inputs(a, ctx.precision))
        return in_g, in_a, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        outputs = Sums.apply(*merged(info.batch_size, in_dims, inputs))
        return tuple(out.unflatten(0, (info.batch_size, -1)) for out in outputs), (0, 0)


def _of_inputs(a: Tensor, precision: str) -> str:
    """Derivatives by coordinates are as exact as the coordinates."""
    return "fp32" if a.shape[-1] <= COORDINATES else precision


def merged(size: int, in_dims: tuple[int | None, ...], inputs: tuple[Any, ...]) -> list[Any]:
    """Merge the mapped dimension of every tensor into its leading batch of networks."""
    merged: list[Any] = []
    for value, dim in zip(inputs, in_dims, strict=True):
        if not isinstance(value, torch.Tensor):
            merged.append(value)
            continue
        mapped = value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
        merged.append(mapped.flatten(0, 1))
    return merged
