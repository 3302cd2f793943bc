"""A radiance field: density at positions, and colour of positions seen from directions."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._typing import Float
from staf.nn.perceptron import in_parts

# exp of more than this is 3e6 per unit of length: nothing passes through the smallest step.
LARGEST_LOG_DENSITY = 15.0


class RadianceField(nn.Module):
    """(n, 6) positions and unit directions to (n, 4): density, then red, green, blue.

    `position` maps (n, 3) to s and `features` numbers, or to `features` numbers of which s is the first (`shared`).
    `colour` maps the features and what `direction` makes of directions to (n, 3). Density is exp(s) with s held to at
    most 15, colour is a sigmoid.

    >>> position, colour = nn.Linear(3, 1 + 8), nn.Linear(8 + 3, 3)
    >>> RadianceField(position, colour, features=8)(torch.zeros(5, 6)).shape
    torch.Size([5, 4])
    """

    in_features, out_features = 6, 4

    def __init__(
        self,
        position: nn.Module,
        colour: nn.Module,
        direction: nn.Module | None = None,
        *,
        features: int,
        shared: bool = False,
    ) -> None:
        super().__init__()
        self.position, self.colour = position, colour
        self.direction = nn.Identity() if direction is None else direction
        self.sizes = (features,) if shared else (1, features)

    def density(self, positions: Float[Tensor, "n 3"]) -> Float[Tensor, " n"]:
        """Density (n,) at positions, which needs no direction."""
        return exp_limited(in_parts(self.position, (positions,), self.sizes, wanted=1)[0][:, 0])

    def forward(self, coordinates: Float[Tensor, "n 6"]) -> Float[Tensor, "n 4"]:
        parts = in_parts(self.position, (coordinates[:, :3],), self.sizes)
        seen = (parts[-1], self.direction(coordinates[:, 3:]))
        (colour,) = in_parts(self.colour, seen, (3,))
        return torch.cat([exp_limited(parts[0][:, :1]), torch.sigmoid(colour)], -1)


def exp_limited(x: Tensor) -> Tensor:
    """exp(min(x, 15))."""
    return torch.exp(x.clamp(max=LARGEST_LOG_DENSITY))


class SphericalHarmonics(nn.Module):
    """Real spherical harmonics of unit directions up to degree 3: (n, 3) to (n, 16), orthonormal on the sphere.

    Each is a sum of products of up to three of 1, x, y, z: `PRODUCTS` lists (harmonic, factors, coefficient).

    >>> [round(value, 4) for value in SphericalHarmonics()(torch.tensor([[0.0, 0.0, 1.0]]))[0, :3].tolist()]
    [0.2821, 0.0, 0.4886]
    """

    features = 16

    def forward(self, direction: Float[Tensor, "n 3"]) -> Float[Tensor, "n 16"]:
        monomials, matrix = _tables(direction.device, direction.dtype)
        factors = functional.pad(direction, (1, 0), value=1.0)
        first, second, third = (factors.index_select(1, places) for places in monomials)
        with torch.autocast(direction.device.type, enabled=False):
            return (first * second * third) @ matrix


@cache
def _tables(device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Which of 1, x, y, z each monomial is a product of, (3, m), and what it counts in each harmonic, (m, 16)."""
    known = sorted({_monomial(factors) for _, factors, _ in PRODUCTS})
    places = torch.tensor([["1xyz".index(factor) for factor in monomial] for monomial in known])
    matrix = torch.zeros(len(known), SphericalHarmonics.features, dtype=torch.float64)
    for harmonic, factors, coefficient in PRODUCTS:
        matrix[known.index(_monomial(factors)), harmonic] += coefficient
    return places.T.contiguous().to(device), matrix.to(device, dtype)


def _monomial(factors: str) -> str:
    return "".join(sorted(factors.rjust(3, "1")))


PRODUCTS = (
    (0, "", 0.28209479177387814),
    (1, "y", -0.48860251190291987),
    (2, "z", 0.48860251190291987),
    (3, "x", -0.48860251190291987),
    (4, "xy", 1.0925484305920792),
    (5, "yz", -1.0925484305920792),
    (6, "zz", 0.94617469575755997),
    (6, "", -0.31539156525251999),
    (7, "xz", -1.0925484305920792),
    (8, "xx", 0.54627421529603959),
    (8, "yy", -0.54627421529603959),
    (9, "yyy", 0.59004358992664352),
    (9, "xxy", -3 * 0.59004358992664352),
    (10, "xyz", 2.8906114426405538),
    (11, "y", 0.45704579946446572),
    (11, "yzz", -5 * 0.45704579946446572),
    (12, "zzz", 5 * 0.3731763325901154),
    (12, "z", -3 * 0.3731763325901154),
    (13, "x", 0.45704579946446572),
    (13, "xzz", -5 * 0.45704579946446572),
    (14, "xxz", 1.4453057213202769),
    (14, "yyz", -1.4453057213202769),
    (15, "xyy", 3 * 0.59004358992664352),
    (15, "xxx", -0.59004358992664352),
)
