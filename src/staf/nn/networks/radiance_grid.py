"""Radiance on a hash grid: features of a position are looked up, and two small perceptrons read them."""

from __future__ import annotations

from typing import Literal

import torch

from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Cells, Depth, LevelFeatures, Levels, Log2Entries, NonNegative, Positive, Size, Terms
from staf.nn.encodings.hash_grid import HashGridEncoding
from staf.nn.networks.radiance import Directions, Four, Six, direction_encoding
from staf.nn.networks.spec import NetworkSpec, Rates
from staf.nn.perceptron import FIRST_BIAS, OMEGA0, SIGMA, TERMS, ActivationName, Family
from staf.nn.radiance_field import RadianceField


@network
def radiance_grid(
    in_features: Six = 6,
    out_features: Four = 4,
    *,
    width: Size = 64,
    depth: Depth = 1,
    colour_depth: Depth = 2,
    activation: ActivationName = "relu",
    features: Size = 16,
    directions: Directions = "harmonics",
    levels: Levels = 16,
    level_features: LevelFeatures = 2,
    log2_entries: Log2Entries = 19,
    coarsest: Cells = 16,
    finest: Cells = 2048,
    interpolation: Literal["linear", "smoothstep"] = "linear",
    omega0: Positive = OMEGA0,
    hidden_omega0: Positive | None = None,
    sigma: Positive = SIGMA,
    terms: Terms = TERMS,
    first_bias: NonNegative = FIRST_BIAS,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> RadianceField:
    """A radiance field of a hash grid over [-1, 1]^3 and two small perceptrons (Mueller et al. 2022).

    The first, of `depth` activated layers of `width`, maps what the grid has at a position to `features`, the first of
    which is the logarithm of the density; the second, of `colour_depth`, maps features and directions to colour.

    Args:
        activation: `relu` as published, or `staf`, `siren`, `finer`, `wire`, `gauss`.
        directions: 16 spherical `harmonics`, `plain`, or `frequencies`, encoded with 4 bands.
        levels, level_features, log2_entries, coarsest, finest, interpolation: the grid, see `HashGridEncoding`.
        omega0, hidden_omega0, sigma, terms, first_bias: constants of the activation, see `staf.nn.perceptron.Family`.

    >>> field = radiance_grid(6, 4, log2_entries=12, finest=128, activation="staf")
    >>> field(torch.zeros(2, 6)).shape, field.density(torch.zeros(2, 3)).shape
    (torch.Size([2, 4]), torch.Size([2]))
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    family = Family(activation, omega0, hidden_omega0, sigma, terms, first_bias)
    encoding = HashGridEncoding(
        3,
        levels=levels,
        features=level_features,
        log2_entries=log2_entries,
        coarsest=coarsest,
        finest=finest,
        interpolation=interpolation,
        **runtime,
    )
    position = family.network(3, features, width=width, depth=depth, encoding=encoding, **runtime)
    direction, seen = direction_encoding(directions, device, dtype)
    colour = family.network(features + seen, 3, width=width, depth=colour_depth, **runtime)
    return RadianceField(position, colour, direction, features=features, shared=True)


SPEC = NetworkSpec(
    "radiance_grid",
    radiance_grid,
    formula="density and features of what a hash grid has at a position, colour of features and a direction",
    source="Mueller et al., *Instant Neural Graphics Primitives with a Multiresolution Hash Encoding*, 2022",
    rates=Rates(full_batch=1e-3),
    summary="a hash grid and two small perceptrons for a scene's density and colour",
)
