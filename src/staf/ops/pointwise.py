"""Derivatives of activations without trained parameters, at every order: phi(x) with a fixed constant.

An activation is a folder with `loop.derivative(x, constant, order)`, the closed form of phi's derivatives. `Derivative`
is phi itself at order 0; its backward is `Slope`, one pass over memory, and beyond that derivatives multiply.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import choose, note
from staf.ops.checks import check_floating, promoted


def apply(name: str, x: Tensor, constant_name: str, constant: float) -> Tensor:
    """Check the arguments of the activation `name`, choose a backend and run it."""
    if not (isinstance(constant, int | float) and math.isfinite(constant)):
        raise ValueError(f"{constant_name} must be a finite number, got {constant!r}")
    x = promoted(x, torch.float32)
    check_floating("x", x)
    if torch.compiler.is_compiling():
        return _module(name, "loop").derivative(x, constant, 0)
    backend = choose(name, x)
    if backend == "reference":
        note(name, backend)
        return _module(name, "reference").reference(x, constant)
    return Derivative.apply(x, name, float(constant), 0, backend)


def _module(name: str, part: str) -> Any:
    return importlib.import_module(f"staf.ops.{name}.{part}")


def _derivative(x: Tensor, name: str, constant: float, order: int, backend: str) -> Tensor:
    note(name, backend)
    return _module(name, "loop").derivative(x, constant, order)


def _slope(grad: Tensor, x: Tensor, name: str, constant: float, backend: str) -> Tensor:
    note(name, backend)
    return grad * _module(name, "loop").derivative(x, constant, 1)


class Derivative(Function):
    """`Derivative.apply(x, name, constant, order, backend)`: the derivative of the given order, 0 for phi itself."""

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        return _derivative(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, *ctx.options = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        name, constant, order, backend = ctx.options
        if order == 0:
            return Slope.apply(grads[0], x, name, constant, backend), None, None, None, None
        return grads[0] * Derivative.apply(x, name, constant, order + 1, backend), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        (x,) = ctx.saved_tensors
        name, constant, order, backend = ctx.options
        return tangents[0] * Derivative.apply(x, name, constant, order + 1, backend)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        x, *options = inputs
        return Derivative.apply(x, *options), in_dims[0]


class Slope(Function):
    """`Slope.apply(grad, x, name, constant, backend)`: grad phi'(x)."""

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        return _slope(*inputs)

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
        grad, x = ctx.saved_tensors
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
    name, constant, backend = options
    return Derivative.apply(x, name, constant, 1, backend), Derivative.apply(x, name, constant, 2, backend)
