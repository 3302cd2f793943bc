"""Gradients of every value at every point, some columns at a time, for parameters that do not factor."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import torch
from torch import Tensor, nn


def real_columns(parameter: Tensor) -> int:
    """How many real numbers a parameter is."""
    return parameter.numel() * (2 if parameter.is_complex() else 1)


def column_groups(parameters: dict[str, nn.Parameter], most: int) -> Iterator[tuple[dict[str, nn.Parameter], slice]]:
    """Parameters in groups of at most `most` columns; a larger tensor comes alone, slice by slice.

    >>> parameters = {name: nn.Parameter(torch.zeros(size)) for name, size in (("a", 3), ("b", 2), ("c", 9))}
    >>> [(list(group), (part.start, part.stop)) for group, part in column_groups(parameters, 5)]
    [(['a', 'b'], (0, 5)), (['c'], (0, 5)), (['c'], (5, 9))]
    """
    group: dict[str, nn.Parameter] = {}
    size = 0
    for name, parameter in parameters.items():
        columns = real_columns(parameter)
        if group and size + columns > most:
            yield group, slice(0, size)
            group, size = {}, 0
        if columns > most:
            for start in range(0, columns, most):
                yield {name: parameter}, slice(start, min(start + most, columns))
        else:
            group[name] = parameter
            size += columns
    if group:
        yield group, slice(0, size)


def per_point_jacobian(
    field: nn.Module, parameters: dict[str, nn.Parameter], columns: slice, coordinates: Tensor, rows: int
) -> Tensor:
    """d f_c(x_i) / d parameters, (n, c, columns), of which only `rows` points are differentiated at once.

    A complex parameter counts as its real and imaginary parts.
    """
    primals = {name: parameter.detach() for name, parameter in parameters.items()}

    def value(chosen: dict[str, Tensor], point: Tensor) -> Tensor:
        return torch.func.functional_call(field, chosen, (point[None],))[0]

    jacobian = torch.func.vmap(torch.func.jacrev(value), in_dims=(None, 0))
    blocks = []
    for start in range(0, len(coordinates), rows):
        found = jacobian(primals, coordinates[start : start + rows])
        flat = torch.cat([_flat(found[name], primals[name]) for name in primals], dim=-1)
        blocks.append(flat[..., columns].clone() if columns.stop - columns.start < flat.shape[-1] else flat)
    return torch.cat(blocks).detach()


def _flat(gradients: Tensor, parameter: Tensor) -> Tensor:
    lead = gradients.shape[: gradients.dim() - parameter.dim()]
    real = torch.view_as_real(gradients.resolve_conj()) if gradients.is_complex() else gradients
    return real.reshape(*lead, prod(parameter.shape) * (2 if parameter.is_complex() else 1))
