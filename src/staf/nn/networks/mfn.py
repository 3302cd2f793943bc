"""MFN: products of filters of the coordinates."""

from __future__ import annotations

import torch

from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, Positive, Size, refuse_unused
from staf.nn.filter_network import FilterName, MultiplicativeFilterNetwork
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, paper_presets


@network
def mfn(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    filters: FilterName = "gabor",
    input_scale: Positive = 256.0,
    weight_scale: Positive = 1.0,
    alpha: Positive = 6.0,
    beta: Positive = 1.0,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> MultiplicativeFilterNetwork:
    """Multiplicative filter network (Fathony et al. 2021): `depth` Gabor or Fourier filters of the coordinates.

    >>> sum(p.numel() for p in mfn(2, 3).parameters())
    204291
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    if filters != "gabor":
        refuse_unused(f"with filters={filters!r}", alpha=(alpha, 6.0), beta=(beta, 1.0))
    return MultiplicativeFilterNetwork(
        in_features,
        out_features,
        width=width,
        depth=depth,
        filters=filters,
        input_scale=input_scale,
        weight_scale=weight_scale,
        alpha=alpha,
        beta=beta,
        **runtime,
    )


PRESETS = paper_presets("MFN", {"rate": 1e-2, "schedule": decay(1)})

SPEC = NetworkSpec(
    "mfn",
    mfn,
    formula=r"$z_i = g_i(x)\, (W_i z_{i-1} + b_i)$, $g = \sin(W x + b) \exp(-\gamma \lvert x - \mu \rvert^2 / 2)$",
    source="Fathony et al., *Multiplicative Filter Networks*, 2021",
    rates=Rates(full_batch=1e-2, soap=1e-2, mini_batch=(8e-3, 8e-3)),
    restoration={
        "super_resolution": Settings(3.05e-3, constants={"input_scale": 74.2}),
        "inpainting": Settings(4.53e-3, constants={"input_scale": 27.6}),
        "denoising": Settings(1.52e-3, constants={"input_scale": 74.2}),
    },
    presets=PRESETS,
    summary="multiplicative Gabor or Fourier filters",
    rows=(
        Row("`input_scale=256`, `weight_scale=1`, `alpha=6`, `beta=1`", "see below", 204_291),
        Row(
            "`input_scale=256`, `weight_scale=1`",
            "see below",
            201_219,
            {"filters": "fourier"},
            formula=r"the same with $g = \sin(W x + b)$",
            source="the same",
        ),
    ),
)
