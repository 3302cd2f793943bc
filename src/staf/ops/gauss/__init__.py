"""`gauss`: the Gaussian activation."""

from __future__ import annotations

from torch import Tensor

from staf._typing import Float
from staf.ops.gauss.loop import derivative
from staf.ops.gauss.reference import reference
from staf.ops.pointwise import Activation

__all__ = ["GAUSS", "gauss"]

GAUSS = Activation("gauss", "sigma", reference, derivative)


def gauss(x: Float[Tensor, "*points"], sigma: float) -> Float[Tensor, "*points"]:
    """exp(-(sigma x)^2), for every element of `x`; derivatives of every order, `torch.func` and vmap are supported.

    Inside autocast a half-precision `x` is computed and returned in float32.

    >>> import torch
    >>> gauss(torch.tensor([0.0]), 10.0)
    tensor([1.])
    """
    return GAUSS(x, sigma)
