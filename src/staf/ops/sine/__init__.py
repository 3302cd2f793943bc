"""`sine`: SIREN's activation."""

from __future__ import annotations

from torch import Tensor

from staf._typing import Float
from staf.ops.pointwise import Activation
from staf.ops.sine.loop import derivative
from staf.ops.sine.reference import reference

__all__ = ["sine"]

_SINE = Activation("sine", "omega0", reference, derivative)


def sine(x: Float[Tensor, "*points"], omega0: float) -> Float[Tensor, "*points"]:
    """sin(omega0 x), for every element of `x`; derivatives of every order, `torch.func` and vmap are supported.

    Inside autocast a half-precision `x` is computed and returned in float32.

    >>> import torch
    >>> sine(torch.tensor([0.0, 1.0]), torch.pi / 2).round(decimals=5)
    tensor([0., 1.])
    """
    return _SINE(x, omega0)
