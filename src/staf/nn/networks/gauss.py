"""Gauss: bell curves."""

from __future__ import annotations

from functools import partial

import torch

from staf.nn.activations import Gauss
from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, Positive, Size
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, paper_presets


@network
def gauss(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    sigma: Positive = 10.0,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """Gauss (Ramasinghe and Lucey 2022): exp(-(sigma x)^2); torch's default weights.

    >>> sum(p.numel() for p in gauss(2, 3).parameters())
    198915
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return CoordinateMLP(
        in_features, out_features, width=width, depth=depth, activation=partial(Gauss, sigma), **runtime
    )


# Its authors publish scenes alone, at 5e-5; the rate for images and the sigma against noise are those that WIRE's
# authors found for it.
PRESETS = paper_presets("Gauss", {"rate": 1e-3, "schedule": decay(0.1)}, arguments={"denoising": {"sigma": 5.0}})

SPEC = NetworkSpec(
    "gauss",
    gauss,
    formula=r"$\exp(-(\sigma x)^2)$",
    source="Ramasinghe and Lucey, *Beyond Periodicity*, 2022",
    rates=Rates(full_batch=1.5e-3, soap=5e-3, mini_batch=(8e-3, 4e-3)),
    restoration={
        "super_resolution": Settings(4.57e-4, constants={"sigma": 5.7}),
        "denoising": Settings(2.29e-4, constants={"sigma": 5.7}),
    },
    scene={
        # With the published sigma of 40 a short fit stays fog (docs/results/scenes-evidence.md).
        "radiance": Settings(4e-3, constants={"activation": "gauss", "sigma": 5.0}),
        "radiance_grid": Settings(2e-3, constants={"activation": "gauss"}),
    },
    decoder="gauss",
    presets=PRESETS,
    summary="exp(-(10 x)^2)",
    rows=(Row("`sigma=10`", "torch's", 198_915),),
)
