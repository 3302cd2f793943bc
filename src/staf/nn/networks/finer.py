"""FINER: sines that are faster the larger their argument."""

from __future__ import annotations

import math
from functools import partial

import torch

from staf.nn.activations import Finer
from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, NonNegative, Positive, Size
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.first_layer import SineLayer
from staf.nn.init import SirenWeights
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, paper_presets


@network
def finer(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    omega0: Positive = 30.0,
    hidden_omega0: Positive = 30.0,
    first_bias: NonNegative = 5.0,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """FINER (Liu et al. 2024): sin(omega0 (|x| + 1) x); SIREN's weights, first bias U(-first_bias, first_bias).

    >>> sum(p.numel() for p in finer(2, 3).parameters())
    198915
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=partial(Finer, hidden_omega0),
        first_activation=partial(Finer, omega0),
        weights=SirenWeights(first_bias=first_bias),
        **runtime,
    )


def growth(ratio: float) -> float:
    """The factor of the first weights for sines `ratio` times as fast: w (2 w + 1) = ratio.

    Its sine speeds up with x, without a bias to omega0 (2 x + 1) x at the ends; biases add to that.

    >>> growth(3.0)
    1.0
    """
    return (math.sqrt(1 + 8 * ratio) - 1) / 4


# Its authors' rate is 1e-4 by default, for images and for signed distances, and falls to a tenth; 5e-4 in one of their
# scripts for images.
PRESETS = paper_presets(
    "FINER",
    {"rate": 1e-4, "schedule": decay(0.1)},
    arguments={"audio": {"omega0": 3000.0}, "denoising": {"omega0": 5.0, "hidden_omega0": 5.0}},
)

SPEC = NetworkSpec(
    "finer",
    finer,
    formula=r"$\sin(\omega_0 (\lvert x \rvert + 1)\, x)$, the scale without gradient",
    source="Liu et al., *FINER: Flexible Spectral-bias Tuning in Implicit Neural Representation by "
    "Variable-periodic Activation Functions*, 2024",
    # SOAP at 3e-3 falls on some pictures: kodim03, 300 steps, 37.8 dB; kodim06, 400 steps, 31.9 dB, where 200 of Muon
    # have 45.9 dB.
    rates=Rates(full_batch=1e-3, soap=1e-3, short=1.5e-3, medium=5e-4, mini_batch=(2e-3, 5e-4), audio_soap=2e-3),
    first_layer=SineLayer(factor=0.25, growth=growth, addition=" and more by their biases"),
    restoration={
        "super_resolution": Settings(1e-3, per_pixel=0.0228, constants={"hidden_omega0": 3.57}),
        "inpainting": Settings(3.28e-3, per_pixel=0.0312, constants={"hidden_omega0": 7.75}),
        "tomography": Settings(3.03e-3, per_pixel=0.00947, constants={"hidden_omega0": 4.51}),
        "denoising": Settings(7.43e-4, constants={"omega0": 5.11, "hidden_omega0": 16.8}),
    },
    scene={
        "radiance": Settings(5e-4, constants={"activation": "finer", "omega0": 30.0}),
        "radiance_grid": Settings(2e-3, constants={"activation": "finer"}),
    },
    decoder="finer",
    presets=PRESETS,
    summary="sin(30 (abs(x) + 1) x)",
    rows=(
        Row(
            "`omega0=30`, `hidden_omega0=30`, `first_bias=5`",
            r"SIREN's; first bias $U(\pm b)$, $b$ = `first_bias`",
            198_915,
        ),
    ),
)
