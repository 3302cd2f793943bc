"""Derivatives of the sine series at every order, whichever kernel computes them.

`Value` is the series, its backward is `Gradients`, whose backward is `Second`; beyond that, torch differentiates the
plain loop. Each has its own vmap (batches of networks are merged) and jvp: the series' second derivatives are
symmetric, so the forward-mode rules are `Second` again. All shapes are those of `loop`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import have_memory, note
from staf.ops.forward_mode import nested_forward_mode
from staf.ops.sine_series import loop

NAME = "sine_series"


def kernels(backend: str, tensors: list[Tensor]) -> ModuleType:
    """The module with `value`, `gradients` and `second` for one backend, or for "reduced", which is triton's."""
    if not have_memory(tensors):
        backend = "loop"
    note(NAME, "triton" if backend == "reduced" else backend)
    if backend == "compiled":
        from staf.ops.sine_series import cpu

        return cpu
    if backend == "triton":
        from staf.ops.sine_series import triton

        return triton
    if backend == "reduced":
        from staf.ops.sine_series import reduced

        return reduced
    return loop


class Value(Function):
    """`Value.apply(x, amplitude, frequency, phase, backend)`."""

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        *tensors, backend = inputs
        return kernels(backend, tensors).value(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _remember(ctx, inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (*Gradients.apply(grads[0], *ctx.saved_tensors, ctx.backend), None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with nested_forward_mode(ctx) as saved:
            filled = _filled(tangents[:-1], saved)
            return Second.apply(torch.ones_like(saved[0]), *saved, *filled, ctx.backend)[0]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return _merged(Value, info.batch_size, in_dims, inputs)


class Gradients(Function):
    """`Gradients.apply(grad, x, amplitude, frequency, phase, backend)`, four outputs."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, backend = inputs
        return kernels(backend, tensors).gradients(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _remember(ctx, inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (*Second.apply(*ctx.saved_tensors, *grads, ctx.backend), None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with nested_forward_mode(ctx) as saved:
            grad_tangent, *others = _filled(tangents[:-1], saved)
            straight = Gradients.apply(grad_tangent, *saved[1:], ctx.backend)
            bent = Second.apply(*saved, *others, ctx.backend)[1:]
            return tuple(a + b for a, b in zip(straight, bent, strict=True))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return _merged(Gradients, info.batch_size, in_dims, inputs)


class Second(Function):
    """`Second.apply(grad, x, *parameters, x_tangent, *parameter_tangents, backend)`, five outputs."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        *tensors, backend = inputs
        return kernels(backend, tensors).second(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _remember(ctx, inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        pull = torch.func.vjp(loop.second, *ctx.saved_tensors)[1]
        return (*pull(grads), None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with nested_forward_mode(ctx) as saved:
            # Dual tensors may not share memory among their elements, as expanded ones do.
            primals = tuple(tensor.contiguous() for tensor in saved)
            return torch.func.jvp(loop.second, primals, tuple(_filled(tangents[:-1], primals)))[1]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return _merged(Second, info.batch_size, in_dims, inputs)


def _remember(ctx: Any, inputs: tuple[Any, ...]) -> None:
    *tensors, ctx.backend = inputs
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def _filled(tangents: tuple[Any, ...], primals: tuple[Tensor, ...]) -> list[Tensor]:
    return [torch.zeros_like(p) if t is None else t for t, p in zip(tangents, primals, strict=True)]


def _merged(function: Any, size: int, in_dims: tuple[int | None, ...], inputs: tuple[Any, ...]) -> Any:
    """Merge the mapped dimension of every input into its leading batch of networks, and split it off the outputs."""
    *tensors, backend = inputs
    merged = []
    for tensor, dim in zip(tensors, in_dims[:-1], strict=True):
        mapped = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        merged.append(mapped.flatten(0, 1))
    outputs = function.apply(*merged, backend)
    if isinstance(outputs, Tensor):
        return outputs.unflatten(0, (size, -1)), 0
    return tuple(out.unflatten(0, (size, -1)) for out in outputs), (0,) * len(outputs)
