"""Exact derivatives of a field with respect to its coordinates: gradient, divergence, Laplacian."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.nn.activations import Finer

FieldLike = Callable[[Tensor], Tensor]


def gradient(
    field: FieldLike,
    coordinates: Float[Tensor, "n d"],
    *,
    units: Sequence[float] | None = None,
    differentiable: bool = False,
) -> Float[Tensor, "n c d"]:
    """d f_c / d u_k at each point, by automatic differentiation.

    FINER is trained without a part of the derivative of its activation; here this part is included.

    Args:
        field: maps coordinates (n, d) to values (n, c), each point on its own.
        units: how many units of u_k (pixels, seconds) one unit of coordinate k spans; u_k = units_k x_k. Ones if None.
        differentiable: whether the result can be differentiated again, with respect to weights or coordinates, as in
            losses on derivatives.

    >>> gradient(lambda x: x.square().sum(-1, keepdim=True), torch.tensor([[1.0, 3.0]]))
    tensor([[[2., 6.]]])
    """
    x, scale = _prepared(coordinates, units, differentiable)
    with torch.enable_grad():
        values = evaluated(field, x)
        columns = [_slope(values[:, c], x, differentiable) for c in range(values.shape[1])]
        return torch.stack(columns, dim=1) / scale


def divergence(
    field: FieldLike,
    coordinates: Float[Tensor, "n d"],
    *,
    units: Sequence[float] | None = None,
    differentiable: bool = False,
) -> Float[Tensor, " n"]:
    """sum_k d f_k / d u_k of a vector field with as many values as coordinates; arguments as for `gradient`.

    >>> divergence(lambda x: x * torch.tensor([2.0, 5.0]), torch.zeros(1, 2))
    tensor([7.])
    """
    slopes = gradient(field, coordinates, units=units, differentiable=differentiable)
    if slopes.shape[1] != slopes.shape[2]:
        raise ValueError(
            f"field must have as many values as coordinates for a divergence, got {slopes.shape[1]} values of "
            f"{slopes.shape[2]} coordinates"
        )
    return slopes.diagonal(dim1=1, dim2=2).sum(-1)


def laplacian(
    field: FieldLike,
    coordinates: Float[Tensor, "n d"],
    *,
    units: Sequence[float] | None = None,
    differentiable: bool = False,
) -> Float[Tensor, "n c"]:
    """sum_k d^2 f_c / d u_k^2 at each point, by differentiating twice; arguments as for `gradient`.

    >>> laplacian(lambda x: x.square().sum(-1, keepdim=True), torch.tensor([[1.0, 3.0]]))
    tensor([[4.]])
    """
    x, scale = _prepared(coordinates, units, differentiable)
    with torch.enable_grad():
        values = evaluated(field, x)
        channels = []
        for c in range(values.shape[1]):
            slope = _slope(values[:, c], x, True)
            seconds = [_slope(slope[:, k], x, differentiable)[:, k] / scale[k] ** 2 for k in range(x.shape[1])]
            channels.append(torch.stack(seconds).sum(0))
        return torch.stack(channels, dim=1)


def _prepared(coordinates: Tensor, units: Sequence[float] | None, differentiable: bool) -> tuple[Tensor, Tensor]:
    """Coordinates that take gradients, and the units as a tensor (d,)."""
    if coordinates.dim() != 2:
        raise ValueError(f"coordinates must have shape (n, d), got {tuple(coordinates.shape)}")
    d = coordinates.shape[1]
    if units is not None and (len(units) != d or not all(unit > 0 for unit in units)):
        raise ValueError(f"units must be {d} positive numbers, one for each coordinate, got {tuple(units)}")
    scale = coordinates.new_tensor([1.0] * d if units is None else list(units))
    if differentiable and coordinates.requires_grad:
        return coordinates, scale
    return coordinates.detach().requires_grad_(), scale


def evaluated(field: FieldLike, x: Tensor) -> Tensor:
    """field(x), (n, d) to (n, c), with complete derivatives: those of FINER include the part that training omits."""
    module = getattr(field, "module", field)
    parts = [part for part in module.modules() if isinstance(part, Finer)] if isinstance(module, nn.Module) else []
    hooks = [part.register_forward_hook(_whole_finer) for part in parts]
    try:
        values = field(x)
    finally:
        for hook in hooks:
            hook.remove()
    if values.dim() != 2 or len(values) != len(x):
        raise ValueError(f"field must map (n, d) to (n, c), got {tuple(x.shape)} to {tuple(values.shape)}")
    return values


def _whole_finer(part: nn.Module, arguments: tuple[Tensor, ...], _: Tensor) -> Tensor:
    """FINER's activation with its scale differentiated too, which training leaves out."""
    (x,) = arguments
    assert isinstance(part, Finer)
    return torch.sin(part.omega0 * (x.abs() + 1) * x)


def _slope(values: Tensor, x: Tensor, again: bool) -> Tensor:
    """d values_i / d x_i for values (n,) of x (n, d); zero where they do not depend on x."""
    if not values.requires_grad:
        return torch.zeros_like(x)
    (slope,) = torch.autograd.grad(
        values.sum(), x, create_graph=again, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return slope
