"""Fourier features: sines and cosines of the coordinates, at random or dyadic frequencies."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.nn.arguments import Bands, NonNegative, Size, check
from staf.nn.init import fill, normal
from staf.nn.linear import exact_product


def nyquist_bands(samples: int) -> int:
    """Bands of a frequency encoding for an axis of so many samples: floor(log2(samples / 4)), at least 1.

    >>> nyquist_bands(512), nyquist_bands(510)
    (7, 6)
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    return max(1, math.floor(math.log2(samples / 4)))


class GaussianEncoding(nn.Module):
    """[sin(2 pi B x), cos(2 pi B x)] with B of `features` rows drawn from N(0, scale^2): `2 features` outputs.

    >>> GaussianEncoding(2, features=8)(torch.zeros(5, 2)).shape
    torch.Size([5, 16])
    """

    frequencies: Tensor

    def __init__(
        self,
        in_features: int,
        *,
        features: int = 256,
        scale: float = 10.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        shape = (check("features", features, Size), check("in_features", in_features, Size))
        scale = check("scale", scale, NonNegative)
        self.out_features = 2 * features
        self.register_buffer("frequencies", torch.empty(shape, device=device, dtype=dtype))
        fill(self.frequencies, lambda: normal(shape, scale, generator))

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points m"]:
        """Features, in full precision even under autocast."""
        angles = exact_product(coordinates, 2 * math.pi * self.frequencies)
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class FrequencyEncoding(nn.Module):
    """[x, sin(2^k pi x), cos(2^k pi x) for k < bands]: `in (1 + 2 bands)` outputs.

    >>> FrequencyEncoding(2, bands=7).out_features
    30
    """

    frequencies: Tensor

    def __init__(
        self,
        in_features: int,
        *,
        bands: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        bands = check("bands", bands, Bands)
        self.out_features = check("in_features", in_features, Size) * (1 + 2 * bands)
        self.register_buffer("frequencies", torch.empty(bands, device=device, dtype=dtype))
        fill(self.frequencies, lambda: math.pi * 2.0 ** torch.arange(bands, dtype=torch.float64, device="cpu"))

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points m"]:
        """Features, in full precision even under autocast."""
        coordinates = coordinates.to(self.frequencies.dtype)
        angles = (coordinates[..., None] * self.frequencies).flatten(-2)
        return torch.cat([coordinates, angles.sin(), angles.cos()], dim=-1)
