"""A plain ReLU network on the coordinates themselves."""

from __future__ import annotations

import torch
from torch import nn

from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, Size
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, paper_presets


@network
def relu(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """ReLU layers without an encoding, which learn low frequencies first (Rahaman et al. 2019).

    >>> sum(p.numel() for p in relu(2, 3).parameters())
    198915
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return CoordinateMLP(in_features, out_features, width=width, depth=depth, activation=nn.ReLU, **runtime)


SPEC = NetworkSpec(
    "relu",
    relu,
    formula=r"$\max(x, 0)$",
    source="Rahaman et al., *On the Spectral Bias of Neural Networks*, 2019",
    # As for ReLU on an encoding; without a search of its own.
    rates=Rates(full_batch=1e-2, soap=1e-2, mini_batch=(8e-3, 8e-3)),
    restoration={"super_resolution": Settings(1e-2), "denoising": Settings(5e-3)},
    presets=paper_presets("ReLU", {"rate": 1e-3, "schedule": decay(0.1)}),
    summary="max(x, 0), no encoding",
    rows=(Row("none", "torch's", 198_915),),
)
