"""`finer`: FINER's activation."""

from __future__ import annotations

from torch import Tensor

from staf._typing import Float
from staf.ops.finer.loop import derivative
from staf.ops.finer.reference import reference
from staf.ops.pointwise import Activation

__all__ = ["FINER", "finer"]

FINER = Activation("finer", "omega0", reference, derivative)


def finer(x: Float[Tensor, "*points"], omega0: float) -> Float[Tensor, "*points"]:
    """sin(omega0 (abs(x) + 1) x) for every element of `x`, with no gradient through abs(x) + 1, as FINER trains.

    Derivatives of every order, `torch.func` and vmap are supported. Inside autocast a half-precision `x` is computed
    and returned in float32.

    >>> import torch
    >>> finer(torch.tensor([0.0, 1.0]), torch.pi / 4).round(decimals=5)
    tensor([0., 1.])
    """
    return FINER(x, omega0)
