"""ReLU layers on a positional encoding."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from staf._documents import Document
from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Bands, Depth, Size
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.encodings import FrequencyEncoding, nyquist_bands
from staf.nn.first_layer import FrequencyBands
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, observed_shape, paper_presets


@network
def pemlp(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    bands: Bands = 7,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """ReLU with positional encoding (Mildenhall et al. 2020): sin and cos of 2^k pi x for k < bands, then ReLU layers.

    `nyquist_bands(samples)` gives the bands for a grid: 7 at 512 samples.

    >>> sum(p.numel() for p in pemlp(2, 3).parameters())
    206083
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=nn.ReLU,
        encoding=FrequencyEncoding(in_features, bands=bands, device=device, dtype=dtype),
        **runtime,
    )


def published_bands(task: str, signal: Any) -> Document:
    """10 bands in three dimensions, as NeRF and the released code; otherwise the Nyquist rule on the longest side.

    >>> from types import SimpleNamespace
    >>> [published_bands("any", SimpleNamespace(shape=shape))["bands"] for shape in ((64, 64, 64), (256, 64))]
    [10, 6]
    """
    shape = observed_shape(signal)
    return {"bands": 10 if len(shape) == 3 else nyquist_bands(max(shape))}


# NeRF's rate is 5e-4 and falls to a tenth; images at 1e-3 are the encoding's rows in the work on Fourier features.
PRESETS = paper_presets(
    "ReLU with positional encoding",
    {"rate": 5e-4, "schedule": decay(0.1)},
    changes={"image": {"rate": 1e-3}},
    from_signal=published_bands,
)

SPEC = NetworkSpec(
    "pemlp",
    pemlp,
    formula=r"ReLU on $x$, $\sin(2^k \pi x)$, $\cos(2^k \pi x)$, $k$ < `bands`",
    source="Mildenhall et al., *NeRF*, 2020",
    rates=Rates(full_batch=1e-2, soap=1e-2, mini_batch=(8e-3, 8e-3)),
    first_layer=FrequencyBands(),
    restoration={
        "super_resolution": Settings(1e-2, constants={"bands": 2}),
        "denoising": Settings(5e-3, constants={"bands": 2}),
    },
    scene={
        "radiance": Settings(4e-3, constants={"activation": "relu", "bands": 10, "directions": "frequencies"}),
        "radiance_grid": Settings(1e-2, constants={"activation": "relu"}),
    },
    presets=PRESETS,
    summary="ReLU on a positional encoding",
    rows=(Row("`bands=7`", "torch's", 206_083),),
)
