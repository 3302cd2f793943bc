"""FFN: Fourier features, then ReLU layers."""

from __future__ import annotations

import torch
from torch import nn

from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Bands, Depth, NonNegative, Size, refuse_unused
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.encodings import FrequencyEncoding, GaussianEncoding
from staf.nn.first_layer import GaussianFeatures
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, paper_presets


@network
def ffn(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    features: Size = 256,
    scale: NonNegative = 10.0,
    bands: Bands | None = None,
    sigmoid: bool = False,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """Fourier feature network (Tancik et al. 2020): Gaussian features, then ReLU layers.

    `bands` replaces the Gaussian features by a frequency encoding; 5 bands give the network in the paper's cost table.
    `sigmoid` adds a sigmoid at the end, as its authors and STAF's released code do, for values in [0, 1].

    >>> [sum(p.numel() for p in field.parameters()) for field in (ffn(2, 3), ffn(2, 3, bands=5))]
    [329475, 204035]
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    encoding: nn.Module
    if bands is None:
        encoding = GaussianEncoding(in_features, features=features, scale=scale, **runtime)
    else:
        refuse_unused("with bands given", features=(features, 256), scale=(scale, 10.0))
        encoding = FrequencyEncoding(in_features, bands=bands, device=device, dtype=dtype)
    return CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=nn.ReLU,
        encoding=encoding,
        output_activation=nn.Sigmoid() if sigmoid else None,
        **runtime,
    )


# 1e-3 throughout, with a sigmoid at the end, where values are in [0, 1]: a recording has negative ones.
PRESETS = paper_presets(
    "FFN",
    {"rate": 1e-3, "schedule": decay(1)},
    arguments={task: {"sigmoid": True} for task in ("image", "shape", "super_resolution", "denoising")},
)

SPEC = NetworkSpec(
    "ffn",
    ffn,
    formula=r"ReLU on $\sin, \cos$ of $2 \pi B x$, $B \sim N(0, s^2)$, $s$ = `scale`",
    source="Tancik et al., *Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional Domains*, "
    "2020",
    rates=Rates(full_batch=1e-2, soap=1e-2, mini_batch=(8e-3, 8e-3)),
    first_layer=GaussianFeatures(),
    restoration={
        "super_resolution": Settings(1e-2, constants={"scale": 1.21}),
        "denoising": Settings(5e-3, constants={"scale": 1.21}),
    },
    presets=PRESETS,
    summary="ReLU on random or dyadic Fourier features",
    rows=(
        Row("`features=256`, `scale=10`", "torch's", 329_475),
        Row(
            "`bands`",
            "torch's",
            204_035,
            {"bands": 5},
            formula="ReLU on a frequency encoding",
            source='the row "FFN" of the paper\'s cost table',
        ),
        Row(
            "the same",
            "torch's",
            329_475,
            {"sigmoid": True},
            formula="the same with a sigmoid at the end",
            source="the same; the released code of STAF",
        ),
    ),
)
