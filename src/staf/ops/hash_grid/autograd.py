"""Derivatives of a grid at every order, whichever kernel computes the sums of `loop`.

`Gather`, `Slope` and `Scatter` are those sums, each with an optional direction; the derivatives of each are the others
again. Only those of `Slope` along a direction (third derivatives) are left to torch, which differentiates the loop.
Batches of networks are merged by vmap.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import have_memory, note
from staf.ops.forward_mode import nested_forward_mode
from staf.ops.hash_grid import loop
from staf.ops.hash_grid.layout import GridLayout

NAME = "hash_grid"


@dataclass(frozen=True)
class Spec:
    """What a call has besides tensors. `refuse` forbids second derivatives by the coordinates."""

    layout: GridLayout
    smooth: bool
    backend: str
    deterministic: bool
    refuse: bool

    @property
    def repeats(self) -> bool:
        """Whether sums must have the same bits in every run."""
        return self.deterministic or torch.are_deterministic_algorithms_enabled()


def kernels(spec: Spec, *tensors: Tensor | None) -> ModuleType:
    """The module with `gather`, `slope` and `scatter` for a backend."""
    given = [tensor for tensor in tensors if tensor is not None]
    backend = spec.backend if have_memory(given) and given[0].numel() > 0 else "loop"
    note(NAME, backend)
    if backend == "compiled":
        from staf.ops.hash_grid import cpu

        return cpu
    if backend == "triton":
        from staf.ops.hash_grid import triton

        return triton
    return loop


class Gather(Function):
    """`Gather.apply(x, table, along, spec)`."""

    @staticmethod
    def forward(x: Tensor, table: Tensor, along: Tensor | None, spec: Spec) -> Tensor:
        return kernels(spec, x, table, along).gather(x, table, along, spec.layout, spec.smooth)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _remember(ctx, inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, table, along = ctx.saved_tensors
        (grad,), wanted, spec = grads, ctx.needs_input_grad, ctx.spec
        return (
            Slope.apply(grad, _guarded(x, spec), table, along, spec) if wanted[0] else None,
            Scatter.apply(grad, x if along is None else _guarded(x, spec), along, spec) if wanted[1] else None,
            Slope.apply(grad, _guarded(x, spec), table, None, spec) if wanted[2] else None,
            None,
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with nested_forward_mode(ctx) as (x, table, along):
            x_tangent, table_tangent, along_tangent, _ = tangents
            terms = []
            if x_tangent is not None:
                terms.append(
                    _pushed(loop.gather, (x, table, along), x_tangent, 0, ctx.spec)
                    if along is not None
                    else Gather.apply(_guarded(x, ctx.spec), table, x_tangent, ctx.spec)
                )
            if table_tangent is not None:
                terms.append(Gather.apply(x, table_tangent, along, ctx.spec))
            if along_tangent is not None:
                terms.append(Gather.apply(_guarded(x, ctx.spec), table, along_tangent, ctx.spec))
            return sum(terms[1:], terms[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        size, spec = info.batch_size, inputs[-1]
        if in_dims[1] is not None:
            return _split(Gather.apply(*_merged(size, in_dims, inputs), spec), size), 0
        x, along = (_within(size, tensor, dim) for tensor, dim in ((inputs[0], in_dims[0]), (inputs[2], in_dims[2])))
        return Gather.apply(x, inputs[1], along, spec).unflatten(1, (size, -1)), 1


class Slope(Function):
    """`Slope.apply(grad, x, table, along, spec)`."""

    @staticmethod
    def forward(grad: Tensor, x: Tensor, table: Tensor, along: Tensor | None, spec: Spec) -> Tensor:
        return kernels(spec, grad, x, table, along).slope(grad, x, table, along, spec.layout, spec.smooth)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _remember(ctx, inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad, x, table, along = ctx.saved_tensors
        (v,), wanted, spec = grads, ctx.needs_input_grad, ctx.spec
        if along is not None:

            def sums(grad: Tensor, x: Tensor, table: Tensor, along: Tensor) -> Tensor:
                return loop.slope(grad, x, table, along, spec.layout, spec.smooth)

            pull = torch.func.vjp(sums, grad, x, table, along)[1]
            return (*pull(v), None)
        return (
            Gather.apply(_guarded(x, spec), table, v, spec) if wanted[0] else None,
            Slope.apply(grad, _guarded(x, spec), table, v, spec) if wanted[1] else None,
            Scatter.apply(grad, _guarded(x, spec), v, spec) if wanted[2] else None,
            None,
            None,
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with nested_forward_mode(ctx) as (grad, x, table, along):
            grad_tangent, x_tangent, table_tangent, along_tangent, _ = tangents
            terms = []
            if grad_tangent is not None:
                terms.append(Slope.apply(grad_tangent, x, table, along, ctx.spec))
            if x_tangent is not None:
                if ctx.spec.refuse:
                    raise NotImplementedError(REFUSAL)
                terms.append(
                    _pushed(loop.slope, (grad, x, table, along), x_tangent, 1, ctx.spec)
                    if along is not None
                    else Slope.apply(grad, x, table, x_tangent, ctx.spec)
                )
            if table_tangent is not None:
                terms.append(Slope.apply(grad, x, table_tangent, along, ctx.spec))
            if along_tangent is not None:
                terms.append(Slope.apply(grad, x, table, along_tangent, ctx.spec))
            return sum(terms[1:], terms[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        size, spec = info.batch_size, inputs[-1]
        if in_dims[2] is not None:
            return _split(Slope.apply(*_merged(size, in_dims, inputs), spec), size), 0
        grad, x, along = (_within(size, inputs[i], in_dims[i]) for i in (0, 1, 3))
        return Slope.apply(grad, x, inputs[2], along, spec).unflatten(1, (size, -1)), 1


class Scatter(Function):
    """`Scatter.apply(grad, x, along, spec)`."""

    @staticmethod
    def forward(grad: Tensor, x: Tensor, along: Tensor | None, spec: Spec) -> Tensor:
        return kernels(spec, grad, x, along).scatter(grad, x, along, spec.layout, spec.smooth, spec.repeats)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _remember(ctx, inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad, x, along = ctx.saved_tensors
        (v,), wanted, spec = grads, ctx.needs_input_grad, ctx.spec
        return (
            Gather.apply(x if along is None else _guarded(x, spec), v, along, spec) if wanted[0] else None,
            Slope.apply(grad, _guarded(x, spec), v, along, spec) if wanted[1] else None,
            Slope.apply(grad, _guarded(x, spec), v, None, spec) if wanted[2] else None,
            None,
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        with nested_forward_mode(ctx) as (grad, x, along):
            grad_tangent, x_tangent, along_tangent, _ = tangents
            terms = []
            if grad_tangent is not None:
                terms.append(Scatter.apply(grad_tangent, x, along, ctx.spec))
            if x_tangent is not None:
                terms.append(
                    _pushed(loop.scatter, (grad, x, along), x_tangent, 1, ctx.spec)
                    if along is not None
                    else Scatter.apply(grad, _guarded(x, ctx.spec), x_tangent, ctx.spec)
                )
            if along_tangent is not None:
                terms.append(Scatter.apply(grad, _guarded(x, ctx.spec), along_tangent, ctx.spec))
            return sum(terms[1:], terms[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        size, spec = info.batch_size, inputs[-1]
        return _split(Scatter.apply(*_merged(size, in_dims, inputs), spec), size), 0


REFUSAL = (
    "the second derivative of a linearly interpolated hash grid by its coordinates is zero inside every cell and "
    "undefined between cells: use interpolation='smoothstep'; where only parameters need gradients, name them: "
    "loss.backward(inputs=list(field.parameters()))"
)


class _Refuse(Function):
    """The identity, whose derivative is an error; it runs only if somebody needs that derivative."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError(REFUSAL)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotImplementedError(REFUSAL)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor) -> Any:
        return _Refuse.apply(x), in_dims[0]


def _guarded(x: Tensor, spec: Spec) -> Tensor:
    return _Refuse.apply(x) if spec.refuse else x


def _pushed(function: Any, inputs: tuple[Tensor, ...], tangent: Tensor, which: int, spec: Spec) -> Tensor:
    """The derivative by x of a sum that has a direction already, along a second one."""
    if spec.refuse:
        raise NotImplementedError(REFUSAL)

    def of_x(x: Tensor) -> Tensor:
        return function(*inputs[:which], x, *inputs[which + 1 :], spec.layout, spec.smooth)

    # Dual tensors may not share memory among their elements, as expanded ones do.
    return torch.func.jvp(of_x, (inputs[which].contiguous(),), (tangent.contiguous(),))[1]


def _remember(ctx: Any, inputs: tuple[Any, ...]) -> None:
    *tensors, ctx.spec = inputs
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def _merged(size: int, in_dims: tuple[int | None, ...], inputs: tuple[Any, ...]) -> list[Tensor | None]:
    """The tensors with the mapped dimension merged into the leading one, that of the networks."""
    merged: list[Tensor | None] = []
    for tensor, dim in zip(inputs[:-1], in_dims[:-1], strict=True):
        if tensor is None:
            merged.append(None)
            continue
        mapped = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        merged.append(mapped.flatten(0, 1))
    return merged


def _within(size: int, tensor: Tensor | None, dim: int | None) -> Tensor | None:
    """A tensor (networks, n, ...) with the mapped dimension merged into its points, where tables are not mapped."""
    if tensor is None:
        return None
    mapped = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return mapped.transpose(0, 1).flatten(1, 2)


def _split(tensor: Tensor, size: int) -> Tensor:
    return tensor.unflatten(0, (size, -1))
