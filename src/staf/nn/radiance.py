"""A radiance field: density at positions, and colour of positions seen from directions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from staf._typing import Float

# exp of more than this is 3e6 per unit of length: nothing passes through the smallest step.
LARGEST_LOG_DENSITY = 15.0


class RadianceField(nn.Module):
    """(n, 6) positions and unit directions to (n, 4): density, then red, green, blue.

    `position` maps (n, 3) to (n, 1 + f): s, and f features. `colour` maps features and what `direction` makes of
    directions to (n, 3). Density is exp(s) with s held to at most 15, colour is a sigmoid.

    >>> position, colour = nn.Linear(3, 1 + 8), nn.Linear(8 + 3, 3)
    >>> RadianceField(position, colour)(torch.zeros(5, 6)).shape
    torch.Size([5, 4])
    """

    def __init__(self, position: nn.Module, colour: nn.Module, direction: nn.Module | None = None) -> None:
        super().__init__()
        self.position, self.colour = position, colour
        self.direction = nn.Identity() if direction is None else direction

    def density(self, positions: Float[Tensor, "n 3"]) -> Float[Tensor, " n"]:
        """Density (n,) at positions, which needs no direction."""
        return exp_limited(self.position(positions)[:, 0])

    def forward(self, coordinates: Float[Tensor, "n 6"]) -> Float[Tensor, "n 4"]:
        raw = self.position(coordinates[:, :3])
        seen = torch.cat([raw[:, 1:], self.direction(coordinates[:, 3:])], -1)
        return torch.cat([exp_limited(raw[:, :1]), torch.sigmoid(self.colour(seen))], -1)


def exp_limited(x: Tensor) -> Tensor:
    """exp(min(x, 15))."""
    return torch.exp(x.clamp(max=LARGEST_LOG_DENSITY))


class SphericalHarmonics(nn.Module):
    """Real spherical harmonics of unit directions up to degree 3: (n, 3) to (n, 16), orthonormal on the sphere.

    >>> [round(value, 4) for value in SphericalHarmonics()(torch.tensor([[0.0, 0.0, 1.0]]))[0, :3].tolist()]
    [0.2821, -0.0, 0.4886]
    """

    features = 16

    def forward(self, direction: Float[Tensor, "n 3"]) -> Float[Tensor, "n 16"]:
        x, y, z = direction.unbind(-1)
        xx, yy, zz = x * x, y * y, z * z
        return torch.stack(
            [
                torch.full_like(x, 0.28209479177387814),
                -0.48860251190291987 * y,
                0.48860251190291987 * z,
                -0.48860251190291987 * x,
                1.0925484305920792 * x * y,
                -1.0925484305920792 * y * z,
                0.94617469575755997 * zz - 0.31539156525251999,
                -1.0925484305920792 * x * z,
                0.54627421529603959 * (xx - yy),
                0.59004358992664352 * y * (yy - 3 * xx),
                2.8906114426405538 * x * y * z,
                0.45704579946446572 * y * (1 - 5 * zz),
                0.3731763325901154 * z * (5 * zz - 3),
                0.45704579946446572 * x * (1 - 5 * zz),
                1.4453057213202769 * z * (xx - yy),
                0.59004358992664352 * x * (3 * yy - xx),
            ],
            -1,
        )
