"""Radiance: two perceptrons, one for density and features, one for colour, as the paper has them for scenes."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import nn

from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Bands, Depth, NonNegative, Positive, Range, Size, Terms
from staf.nn.encodings import FrequencyEncoding
from staf.nn.networks.spec import NetworkSpec, Rates
from staf.nn.perceptron import FIRST_BIAS, OMEGA0, SIGMA, TERMS, ActivationName, Family
from staf.nn.radiance_field import RadianceField, SphericalHarmonics

Directions = Literal["plain", "harmonics", "frequencies"]
Six = Annotated[int, Range(6, 6)]
Four = Annotated[int, Range(4, 4)]
# NeRF's own for directions.
DIRECTION_BANDS = 4


@network
def radiance(
    in_features: Six = 6,
    out_features: Four = 4,
    *,
    width: Size = 128,
    depth: Depth = 3,
    activation: ActivationName = "staf",
    features: Size = 128,
    bands: Bands | None = None,
    directions: Directions = "plain",
    omega0: Positive = OMEGA0,
    hidden_omega0: Positive | None = None,
    sigma: Positive = SIGMA,
    terms: Terms = TERMS,
    first_bias: NonNegative = FIRST_BIAS,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> RadianceField:
    """A radiance field of two perceptrons of `depth` activated layers of `width` each, without a grid.

    The first maps positions to density and `features`, the second features and directions to colour.

    Args:
        activation: `staf`, `siren`, `finer`, `wire`, `gauss` or `relu`.
        bands: positions are encoded by sines and cosines of 2^k pi x, k < bands; not encoded by default.
        directions: `plain`, 16 spherical `harmonics`, or `frequencies`, encoded with 4 bands.
        omega0, hidden_omega0, sigma, terms, first_bias: constants of the activation, see `staf.nn.perceptron.Family`.

    >>> field = radiance(6, 4, activation="siren", omega0=40)
    >>> field(torch.zeros(2, 6)).shape, sum(p.numel() for p in field.parameters())
    (torch.Size([2, 4]), 100484)
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    family = Family(activation, omega0, hidden_omega0, sigma, terms, first_bias)
    encoding = None if bands is None else FrequencyEncoding(3, bands=bands, device=device, dtype=dtype)
    position = family.network(3, 1 + features, width=width, depth=depth, encoding=encoding, **runtime)
    direction, seen = direction_encoding(directions, device, dtype)
    colour = family.network(features + seen, 3, width=width, depth=depth, **runtime)
    return RadianceField(position, colour, direction, features=features)


def direction_encoding(
    directions: str, device: Device = None, dtype: torch.dtype | None = None
) -> tuple[nn.Module | None, int]:
    """What is done to directions, and how many numbers it makes of each.

    >>> direction_encoding("harmonics")[1]
    16
    """
    if directions == "plain":
        return None, 3
    if directions == "harmonics":
        return SphericalHarmonics(), SphericalHarmonics.features
    encoding = FrequencyEncoding(3, bands=DIRECTION_BANDS, device=device, dtype=dtype)
    return encoding, encoding.out_features


SPEC = NetworkSpec(
    "radiance",
    radiance,
    formula="density and features of a position, colour of features and a direction",
    source="Morsali et al., *A Unified Theory of Sinusoidal Activation Families for Implicit Neural Representations*",
    rates=Rates(full_batch=1e-3),
    summary="two perceptrons for a scene's density and colour",
)
