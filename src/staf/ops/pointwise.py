"""Activations without trained parameters, phi(x) with a fixed constant, and their derivatives at every order.

`Derivative` is phi itself at order 0; its backward is `Slope`, one pass over memory, and beyond that derivatives
multiply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import choose, have_memory, is_traced, note, values_only
from staf.ops.checks import check_floating, promoted
from staf.ops.forward_mode import nested_forward_mode


@dataclass(frozen=True)
class Activation:
    """phi by name: `reference(x, constant)` is its formula, `derivative(x, constant, order)` its closed derivatives."""

    name: str
    constant_name: str
    reference: Callable[[Tensor, float], Tensor]
    derivative: Callable[[Tensor, float, int], Tensor]

    def __call__(self, x: Tensor, constant: float) -> Tensor:
        """Check the arguments, choose a backend and run it."""
        if not (isinstance(constant, int | float) and math.isfinite(constant)):
            raise ValueError(f"{self.constant_name} must be a finite number, got {constant!r}")
        x = promoted(x, torch.float32)
        check_floating("x", x)
        if is_traced():
            return self.derivative(x, constant, 0)
        backend = choose(self.name, x)
        if backend == "reference":
            note(self.name, backend)
            return self.reference(x, constant)
        if values_only(x):
            return _scaled(None, x, self, float(constant), 0, backend)
        return Derivative.apply(x, self, float(constant), 0, backend)


def _scaled(grad: Tensor | None, x: Tensor, phi: Activation, constant: float, order: int, backend: str) -> Tensor:
    """grad phi^(order)(x), or phi^(order)(x) alone where grad is None; the kernels know orders 0 to 2."""
    if backend == "loop" or order > 2 or not have_memory([x] if grad is None else [grad, x]):
        note(phi.name, "loop")
        derivative = phi.derivative(x, constant, order)
        return derivative if grad is None else grad * derivative
    note(phi.name, backend)
    if backend == "compiled":
        from staf.ops import pointwise_cpu

        return pointwise_cpu.scaled_derivative(grad, x, phi.name, constant, order)
    from staf.ops import pointwise_triton

    return pointwise_triton.scaled_derivative(grad, x, phi.name, constant, order)


class Derivative(Function):
    """`Derivative.apply(x, activation, constant, order, backend)`: phi's derivative; order 0 is phi itself."""

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        x, phi, constant, order, backend = inputs
        return _scaled(None, x, phi, constant, order, backend)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, *ctx.options = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        phi, constant, order, backend = ctx.options
        if order == 0:
            return Slope.apply(grads[0], x, phi, constant, backend), None, None, None, None
        return grads[0] * Derivative.apply(x, phi, constant, order + 1, backend), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        phi, constant, order, backend = ctx.options
        with nested_forward_mode(ctx) as (x,):
            return tangents[0] * Derivative.apply(x, phi, constant, order + 1, backend)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        x, *options = inputs
        return Derivative.apply(x, *options), in_dims[0]


class Slope(Function):
    """`Slope.apply(grad, x, activation, constant, backend)`: grad phi'(x)."""

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        grad, x, phi, constant, backend = inputs
        return _scaled(grad, x, phi, constant, 1, backend)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        grad, x, *ctx.options = inputs
        ctx.save_for_backward(grad, x)
        ctx.save_for_forward(grad, x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad, x = ctx.saved_tensors
        first, second = _first_two(x, ctx.options)
        return grads[0] * first, grads[0] * grad * second, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with nested_forward_mode(ctx) as (grad, x):
            first, second = _first_two(x, ctx.options)
            total = torch.zeros_like(x)
            if tangents[0] is not None:
                total = total + tangents[0] * first
            if tangents[1] is not None:
                total = total + tangents[1] * grad * second
            return total

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        grad, x, *options = inputs
        mapped = [
            tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
            for tensor, dim in ((grad, in_dims[0]), (x, in_dims[1]))
        ]
        return Slope.apply(*mapped, *options), 0


def _first_two(x: Tensor, options: list[Any]) -> tuple[Tensor, Tensor]:
    phi, constant, backend = options
    return Derivative.apply(x, phi, constant, 1, backend), Derivative.apply(x, phi, constant, 2, backend)
