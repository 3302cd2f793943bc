"""Derivatives of the linear layer on a CPU, closed under themselves as those of `autograd` are.

layer: y = x W^T + b            its gradients: (g W, sums(g, x))
sums:  (g^T x, sum of g)        its gradients: (x h^T + h', g h)
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function

from staf.ops.linear import cpu


class Layer(Function):
    """`Layer.apply(x, weight, bias or None)`: x (n, k), weight (m, k), bias (m,)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return cpu.product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, weight = ctx.saved_tensors
        (grad,) = grads
        in_x = Layer.apply(grad, weight.t(), None) if ctx.needs_input_grad[0] else None
        in_weight = in_bias = None
        if any(ctx.needs_input_grad[1:]):
            in_weight, in_bias = Sums.apply(grad, x)
        return in_x, in_weight, in_bias if ctx.needs_input_grad[2] else None


class Sums(Function):
    """`Sums.apply(grad, x)`: grad (n, m), x (n, k) to (m, k) and (m,)."""

    @staticmethod
    def forward(ctx: Any, grad: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(grad, x)
        return cpu.sums(grad, x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad, x = ctx.saved_tensors
        in_weight, in_bias = grads
        in_grad = Layer.apply(x, in_weight, in_bias) if ctx.needs_input_grad[0] else None
        return in_grad, Layer.apply(grad, in_weight.t(), None) if ctx.needs_input_grad[1] else None
