"""The empirical neural tangent kernel of any field, in bounded memory and exactly symmetric."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.analysis.factors import Call, LinearPart, capture, linear_parts
from staf.analysis.per_point import column_groups, per_point_jacobian, real_columns
from staf.analysis.selection import module_of, selected_parameters

Outputs = Literal["sum", "channels", "full"]


def empirical_ntk(
    field: nn.Module,
    coordinates: Float[Tensor, "n d"],
    *,
    outputs: Outputs = "sum",
    roles: str | Collection[str] = "all",
    dtype: torch.dtype | None = None,
    memory: int = 2**30,
) -> Tensor:
    """K_{ic,jc'} = sum over parameters of (df_c(x_i)/dp) (df_c'(x_j)/dp), as autograd differentiates the field.

    Linear layers are contracted in factored form (`staf.analysis.factors`), everything else by its gradients, a block
    of rows and of parameters at a time. The result equals its transpose bit for bit.

    Args:
        field: any module from (n, d) coordinates to (n, c) values that treats every point by itself, or a fitted field.
            Complex weights count as two real parameters.
        outputs: `sum`, the sum over channels of their kernels, (n, n); `channels`, one kernel each, (c, n, n); `full`,
            with the terms between channels, (n c, n c), row i c_total + c for channel c of point i.
        roles: the parameters to differentiate by: `all`, `weights`, `activations`, or a collection of roles
            (`staf.analysis.selection`).
        dtype: float32 or float64 to compute in; the field's own by default.
        memory: bytes of temporary storage, beyond the kernel itself and the layers' factors, which take
            n (inputs + c outputs) numbers a layer.

    >>> from staf.nn import siren
    >>> kernel = empirical_ntk(siren(2, 3, width=16), torch.rand(10, 2) * 2 - 1)
    >>> kernel.shape, torch.equal(kernel, kernel.T)
    (torch.Size([10, 10]), True)
    """
    module = module_of(field)
    if outputs not in ("sum", "channels", "full"):
        raise ValueError(f"outputs must be 'sum', 'channels' or 'full', got {outputs!r}")
    if memory < 1:
        raise ValueError(f"memory must be a positive number of bytes, got {memory}")
    if coordinates.dim() != 2 or len(coordinates) < 1:
        raise ValueError(f"coordinates must have shape (n, d) with n at least 1, got {tuple(coordinates.shape)}")
    if dtype is not None:
        module = copy.deepcopy(module).to(dtype)
    parameters = selected_parameters(module, roles)
    first = next(iter(parameters.values()))
    real = first.real.dtype if first.is_complex() else first.dtype
    if real not in (torch.float32, torch.float64):
        raise TypeError(f"the kernel is computed in float32 or float64; the field has {real}, so give dtype")
    coordinates = coordinates.detach().to(first.device, real)
    return _kernel(module, parameters, coordinates, outputs, memory)


def _kernel(
    field: nn.Module, parameters: dict[str, nn.Parameter], coordinates: Tensor, outputs: Outputs, memory: int
) -> Tensor:
    points = len(coordinates)
    parts = linear_parts(field, set(parameters), coordinates)
    taken = {id(tensor) for part in parts for tensor in part.parameters()}
    rest = {name: parameter for name, parameter in parameters.items() if id(parameter) not in taken}
    with torch.no_grad():
        channels = field(coordinates[:1]).shape[1]
    # Kernels are filled as (sets, n, k, n, k): one set, k=1 for sum; c sets, k=1 for channels; one set, k=c for full.
    sets, per_point = {"sum": (1, 1), "channels": (channels, 1), "full": (1, channels)}[outputs]
    size = points * per_point
    kernel = coordinates.new_zeros(sets, size, size)
    itemsize = kernel.element_size()

    features = _captured_features(field, parts, coordinates)
    # The autograd graph of one row holds several tensors of each layer's size, and as much again in each backward.
    graph_rows = max(1, memory // (itemsize * 8 * max(1, features) * 2))
    if parts:
        for part, calls in zip(parts, _factors(field, parts, coordinates, graph_rows), strict=True):
            _add_factors(kernel, part, calls, per_point, max(1, memory // (4 * itemsize * size * per_point)))
    if rest:
        most = max(1, memory // (2 * itemsize * points * channels))
        for group, columns in column_groups(rest, most):
            width = sum(real_columns(parameter) for parameter in group.values())
            rows = max(1, min(graph_rows, memory // (4 * itemsize * channels * width)))
            jacobian = per_point_jacobian(field, group, columns, coordinates, rows)
            _add_jacobian(kernel, jacobian, per_point, rows=max(1, points // 8))
    for one in kernel:
        _mirror(one, max(1, math.isqrt(memory // (4 * itemsize))))
    return kernel if outputs == "channels" else kernel[0]


def _captured_features(field: nn.Module, parts: list[LinearPart], coordinates: Tensor) -> int:
    values, captured = capture(field, parts, coordinates[:1])
    numbers = [call.inputs.numel() + call.gradients.numel() for calls in captured for call in calls]
    return sum(numbers) + values.numel()


def _factors(field: nn.Module, parts: list[LinearPart], coordinates: Tensor, rows: int) -> list[list[Call]]:
    """The calls of every layer over all points, gathered `rows` points at a time."""
    chunks = [capture(field, parts, coordinates[i : i + rows])[1] for i in range(0, len(coordinates), rows)]
    return [
        [
            Call(torch.cat([piece.inputs for piece in pieces]), torch.cat([piece.gradients for piece in pieces]))
            for pieces in zip(*(chunk[index] for chunk in chunks), strict=True)
        ]
        for index in range(len(parts))
    ]


def _add_factors(kernel: Tensor, part: LinearPart, calls: list[Call], per_point: int, rows: int) -> None:
    """Add one layer's share to the upper triangle of blocks, `rows` points at a time."""
    points = kernel.shape[1] // per_point
    blocks = kernel.view(len(kernel), points, per_point, points, per_point)
    for start in range(0, points, rows):
        here = slice(start, start + rows)
        for left in calls:
            for right in calls:
                scale = _input_products(part, left.inputs[here], right.inputs[start:])
                for index, (g, h) in enumerate(_sets(left.gradients, right.gradients, len(kernel), per_point)):
                    product = g[here].flatten(0, 1) @ h[start:].flatten(0, 1).mH
                    product = product.view(-1, per_point, points - start, per_point)
                    product.mul_(scale[:, None, :, None])
                    blocks[index, here, :, start:].add_(product.real if product.is_complex() else product)


def _input_products(part: LinearPart, left: Tensor, right: Tensor) -> Tensor:
    if not part.weight:
        return torch.ones((), dtype=left.dtype, device=left.device).expand(len(left), len(right))
    products = left.conj() @ right.T
    return products.add_(1) if part.bias else products


def _sets(left: Tensor, right: Tensor, sets: int, per_point: int) -> list[tuple[Tensor, Tensor]]:
    """Gradients (n, c, m) as pairs of (n, per_point, numbers), one pair for each kernel that is filled."""
    if sets == 1 and per_point == 1:
        return [(left.flatten(1)[:, None], right.flatten(1)[:, None])]
    if per_point == 1:
        return [(left[:, [channel]], right[:, [channel]]) for channel in range(sets)]
    return [(left, right)]


def _add_jacobian(kernel: Tensor, jacobian: Tensor, per_point: int, rows: int) -> None:
    """Add J J^T to the upper triangle of blocks, in place."""
    for one, (gradients, _) in zip(kernel, _sets(jacobian, jacobian, len(kernel), per_point), strict=True):
        flat = gradients.flatten(0, 1)
        for start in range(0, len(flat), rows * per_point):
            stop = start + rows * per_point
            one[start:stop, start:].addmm_(flat[start:stop], flat[start:].T)


def _mirror(kernel: Tensor, block: int) -> None:
    """Copy the upper triangle onto the lower one."""
    for start in range(0, len(kernel), block):
        stop = start + block
        corner = kernel[start:stop, start:stop]
        corner.copy_(corner.triu() + corner.triu(1).T)
        kernel[stop:, start:stop] = kernel[start:stop, stop:].T
