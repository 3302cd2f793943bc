"""SIREN: sines of one frequency for each layer."""

from __future__ import annotations

from functools import partial

import torch

from staf.nn.activations import Sine
from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, Positive, Size
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.first_layer import SineLayer
from staf.nn.init import SirenWeights
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, paper_presets


@network
def siren(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    omega0: Positive = 30.0,
    hidden_omega0: Positive = 30.0,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """SIREN (Sitzmann et al. 2020): sin(omega0 x), `omega0` in the first layer and `hidden_omega0` in the others.

    >>> sum(p.numel() for p in siren(2, 3).parameters())
    198915
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=partial(Sine, hidden_omega0),
        first_activation=partial(Sine, omega0),
        weights=SirenWeights(),
        **runtime,
    )


# Its authors train images and audio at 1e-4 throughout. Slow sines against noise are those that WIRE's authors give it.
PRESETS = paper_presets(
    "SIREN",
    {"rate": 1e-4, "schedule": decay(1)},
    arguments={"audio": {"omega0": 3000.0}, "denoising": {"omega0": 5.0, "hidden_omega0": 5.0}},
)

SPEC = NetworkSpec(
    "siren",
    siren,
    formula=r"$\sin(\omega_0 x)$",
    source="Sitzmann et al., *Implicit Neural Representations with Periodic Activation Functions*, 2020",
    rates=Rates(full_batch=1e-3, soap=3e-3, short=1.5e-3, medium=5e-4, mini_batch=(2e-3, 1e-3)),
    first_layer=SineLayer(spreads=True),
    restoration={
        "super_resolution": Settings(3.05e-4, per_pixel=0.205, constants={"hidden_omega0": 24.7}),
        "inpainting": Settings(4.53e-4, per_pixel=0.15, constants={"hidden_omega0": 16.8}),
        "tomography": Settings(5.31e-4, per_pixel=0.205, constants={"hidden_omega0": 22.9}),
        "denoising": Settings(1.64e-3, constants={"omega0": 3.74, "hidden_omega0": 7.75}),
    },
    scene={
        "radiance": Settings(5e-4, constants={"activation": "siren", "omega0": 40.0}),
        "radiance_grid": Settings(2e-3, constants={"activation": "siren"}),
    },
    decoder="siren",
    presets=PRESETS,
    summary="sin(30 x)",
    rows=(
        Row(
            "`omega0=30`, `hidden_omega0=30`",
            r"first $U(\pm 1/n)$, others $U(\pm\sqrt{6/n}/\omega_0)$, $n$ inputs",
            198_915,
        ),
    ),
)
