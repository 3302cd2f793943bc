"""Jet: a field at some points with its exact derivatives, each computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from staf._typing import Float
from staf.nn.derivatives import FieldLike, evaluated


class Jet:
    """u(x) and its derivatives at points, in the units of the equation; all can be differentiated again.

    With coordinates c in [-1, 1] and x_k = low_k + units_k (c_k + 1), a derivative with respect to x_k is the one with
    respect to c_k, by automatic differentiation, divided by units_k. First derivatives come from one backward pass for
    each value of the field, second ones from one more for each first derivative.

    Args:
        field: coordinates (n, d) to values (n, c), each point on its own.
        coordinates: (n, d) in [-1, 1].
        units: half the length of the box along each axis, (d,).

    >>> jet = Jet(lambda c: (c[:, :1] ** 3) * c[:, 1:], torch.tensor([[1.0, 2.0]]), torch.tensor([2.0, 1.0]))
    >>> jet.value.item(), jet.d(0).item(), jet.d(0, 0).item(), jet.d(0, 1).item()
    (2.0, 3.0, 3.0, 1.5)
    >>> jet.laplacian().item()
    3.0
    """

    def __init__(self, field: FieldLike, coordinates: Float[Tensor, "n d"], units: Float[Tensor, " d"]) -> None:
        self._x = coordinates.detach().requires_grad_()
        self._units = units
        self._derivatives: dict[tuple[int, ...], Tensor] = {}
        with torch.enable_grad():
            self.value: Float[Tensor, "n c"] = evaluated(field, self._x)

    def d(self, *axes: int) -> Float[Tensor, "n c"]:
        """The derivative with respect to one axis, or to several one after another: `d(0)`, `d(1, 1)`."""
        if not axes:
            return self.value
        if axes not in self._derivatives:
            self._differentiate(axes[:-1])
        return self._derivatives[axes]

    def laplacian(self, axes: Sequence[int] | None = None) -> Float[Tensor, "n c"]:
        """The sum of the second derivatives, over all axes or those given."""
        chosen = range(self._x.shape[1]) if axes is None else axes
        return torch.stack([self.d(axis, axis) for axis in chosen]).sum(0)

    def _differentiate(self, axes: tuple[int, ...]) -> None:
        """Find the derivatives of `d(*axes)` with respect to every axis, in one backward pass for each value."""
        of = self.d(*axes)
        columns = []
        for channel in range(of.shape[1]):
            if not of.requires_grad:
                columns.append(torch.zeros_like(self._x))
                continue
            (slope,) = torch.autograd.grad(
                of[:, channel].sum(), self._x, create_graph=True, allow_unused=True, materialize_grads=True
            )
            columns.append(slope / self._units)
        slopes = torch.stack(columns, 1)
        for axis in range(self._x.shape[1]):
            self._derivatives[(*axes, axis)] = slopes[..., axis]
