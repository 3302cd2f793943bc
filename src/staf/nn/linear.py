"""Linear layers that start empty, and the exact product that the first one uses."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.ops.backend import fused_allowed
from staf.ops.complex_linear import complex_linear
from staf.ops.linear import linear

MOST_COORDINATES = 8


class Linear(nn.Linear):
    """`nn.Linear` whose values are left to an initialisation law, so that no global random state is used."""

    def reset_parameters(self) -> None:
        """Nothing: a weight law fills both tensors."""

    def forward(self, x: Tensor) -> Tensor:
        """x W^T + b, in the precision of the `Execution` around it."""
        return (complex_linear if self.weight.is_complex() else linear)(x, self.weight, self.bias)


def check_coordinates(coordinates: Tensor, in_features: int) -> None:
    """Refuse what is no tensor, and coordinates whose dimension differs from the network's."""
    if not isinstance(coordinates, Tensor):
        raise TypeError(f"coordinates must be a tensor, got {type(coordinates).__name__}: torch.as_tensor makes one")
    if coordinates.dim() < 1 or coordinates.shape[-1] != in_features:
        raise ValueError(f"coordinates must have last dimension {in_features}, got shape {tuple(coordinates.shape)}")


def exact_product(
    x: Float[Tensor, "*points d"], weight: Float[Tensor, "m d"], bias: Float[Tensor, " m"] | None = None
) -> Float[Tensor, "*points m"]:
    """x W^T + b in the weight's own precision, also under autocast or tf32.

    One multiply-add for each coordinate instead of a matrix product: coordinates are multiplied by large frequencies,
    so the ten bits of tf32 would move the points themselves.

    >>> exact_product(torch.ones(4, 2), torch.ones(3, 2), torch.zeros(3)).shape
    torch.Size([4, 3])
    """
    with torch.autocast(device_type=x.device.type, enabled=False):
        x = x.to(weight.dtype)
        total = x[..., :1] * weight[:, 0] if bias is None else torch.addcmul(bias, x[..., :1], weight[:, 0])
        for k in range(1, weight.shape[1]):
            total = torch.addcmul(total, x[..., k : k + 1], weight[:, k])
        return total


class CoordinateLinear(Linear):
    """The first layer, on coordinates: full precision always, for up to 8 inputs.

    More inputs are features rather than coordinates (an encoding, another network), for which an ordinary product is
    accurate enough.
    """

    def forward(self, x: Float[Tensor, "*points d"]) -> Float[Tensor, "*points m"]:
        """x W^T + b."""
        if self.in_features > MOST_COORDINATES or fused_allowed():
            return linear(x.to(self.weight.dtype), self.weight, self.bias)
        return exact_product(x, self.weight, self.bias)
