"""Instant-NGP: a hash grid, then a small network of any activation of the family."""

from __future__ import annotations

from typing import Annotated, Literal

import torch

from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Cells, Depth, LevelFeatures, Levels, Log2Entries, Positive, Range, Size, Terms
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.encodings import HashGridEncoding
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings
from staf.nn.perceptron import FIRST_BIAS, OMEGA0, SIGMA, TERMS, Family

Dimensions = Annotated[int, Range(1, 4)]
Decoder = Literal["relu", "siren", "finer", "staf", "gauss"]
InterpolationName = Literal["linear", "smoothstep"]
FINEST = 2048


@network
def ngp(
    in_features: Dimensions,
    out_features: Size,
    *,
    width: Size = 64,
    depth: Depth = 2,
    activation: Decoder = "relu",
    levels: Levels = 16,
    features: LevelFeatures = 2,
    log2_entries: Log2Entries = 19,
    coarsest: Cells = 16,
    finest: Cells | None = None,
    proportions: tuple[Positive, ...] | None = None,
    interpolation: InterpolationName = "linear",
    omega0: Positive = OMEGA0,
    terms: Terms = TERMS,
    sigma: Positive = SIGMA,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """Instant-NGP (Mueller et al. 2022): a multiresolution hash grid, then `depth` layers of `width`.

    `HashGridEncoding` explains `levels`, `features`, `log2_entries`, `coarsest`, `proportions` and `interpolation`.

    Args:
        activation: of the layers: `relu` as published, or `siren`, `finer`, `staf`, `gauss`.
        finest: cells along the finest level; for an image, half its longest side is usual.
        omega0: of `siren`, `finer` and `staf` decoders, in every layer.
        terms: sinusoids of a `staf` decoder.
        sigma: of a `gauss` decoder.

    >>> field = ngp(2, 3, log2_entries=14, finest=256, activation="staf")
    >>> field(torch.zeros(4, 2)).shape, field.encoding.out_features
    (torch.Size([4, 3]), 32)
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    encoding = HashGridEncoding(
        in_features,
        levels=levels,
        features=features,
        log2_entries=log2_entries,
        coarsest=coarsest,
        finest=max(coarsest, FINEST) if finest is None else finest,
        proportions=proportions,
        interpolation=interpolation,
        **runtime,
    )
    # The features of a grid are not coordinates: FINER's first bias starts as those of the other layers.
    first_bias = None if activation == "finer" else FIRST_BIAS
    family = Family(activation, omega0=omega0, sigma=sigma, terms=terms, first_bias=first_bias)
    field = family.network(in_features, out_features, width=width, depth=depth, encoding=encoding, **runtime)
    assert isinstance(field, CoordinateMLP)
    return field


SPEC = NetworkSpec(
    "ngp",
    ngp,
    formula="a multiresolution hash grid, then ReLU, or the activation of SIREN, FINER, STAF or Gauss",
    source="Müller et al., *Instant Neural Graphics Primitives with a Multiresolution Hash Encoding*, 2022",
    # A 16-megapixel photo, 2^19 entries, 4 seconds on an H200: Adam at 1e-3 and 3e-3 on a ReLU decoder end at 43.6 and
    # 43.8 dB. Mini-batches get half of it.
    rates=Rates(full_batch=2e-3),
    restoration={"super_resolution": Settings(2e-3), "denoising": Settings(2e-3)},
    layers="2 activated layers of 64 behind a hash grid",
    grid=True,
    summary="a hash grid, then ReLU or any activation above",
    rows=(
        Row(
            "`levels=16`, `features=2`, `log2_entries=19`, `coarsest=16`, `finest=2048`, `width=64`, `depth=2`",
            r"table $U(\pm 10^{-4})$, layers as the activation's",
            5_528_405,
        ),
    ),
)
