"""STAF: trainable sums of sinusoids, the paper's network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import nn

from staf._documents import Entries
from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, NonNegative, Positive, Size, Terms, refuse_unused
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.first_layer import SineLayer
from staf.nn.init import LAWS, WEIGHT_LAWS, LawName, SirenStart, Spread, WeightLawName
from staf.nn.networks.spec import NetworkSpec, Preset, Rates, Row, Settings
from staf.nn.sine_series import PARTS, Part, SineSeries

Sharing = Literal["layer", "neuron", "network"]
TERMS = 5


@network
def staf(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    terms: Terms = TERMS,
    omega0: Positive = 90.0,
    hidden_omega0: Positive | None = None,
    law: LawName = "siren_start",
    extra_amplitude: NonNegative = 0.1,
    spread: Spread = "even",
    weights: WeightLawName = "siren",
    sharing: Sharing = "layer",
    skip: bool = False,
    train: tuple[Part, ...] = PARTS,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """STAF: rho(x) = sum_i C_i sin(Omega_i x + Phi_i) with C, Omega, Phi trained.

    The default starts as SIREN with weak extra terms, which trains best. The paper's network is
    `staf(d, c, omega0=30, law="theorem", weights="torch")`, its released code
    `staf(d, c, omega0=60, law="released", weights="torch", skip=True)`.

    Args:
        terms: number of sinusoids per activation (tau).
        omega0: highest initial frequency of the first layer.
        hidden_omega0: that of the other layers; by default 30, or `omega0` if `sharing="network"`.
        law: `siren_start`, `theorem` or `released`, see `staf.nn.init`.
        extra_amplitude: for `siren_start` only: the amplitude of the extra terms.
        spread: for `siren_start` only: whether the extra frequencies are evenly spaced up to omega0 (`even`) or
            `random`.
        weights: `siren`, `torch` or `unit_gain`.
        sharing: one set of sinusoids per `layer`, per `neuron`, or one for the whole `network`.
        skip: z = rho(a) + a in hidden layers.
        train: which of amplitude, frequency, phase are trained; the others keep their initial values.

    >>> sum(p.numel() for p in staf(2, 3).parameters())
    198975
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    if law != "siren_start":
        refuse_unused(f"with law={law!r}", extra_amplitude=(extra_amplitude, 0.1), spread=(spread, "even"))
    if sharing == "network" and hidden_omega0 not in (None, omega0):
        raise ValueError(f"hidden_omega0 must be omega0, {omega0:g}, where the network shares one, got {hidden_omega0}")
    hidden = hidden_omega0 or (omega0 if sharing == "network" else 30.0)
    start = SirenStart(extra_amplitude, spread) if law == "siren_start" else LAWS[law]()
    series = partial(SineSeries, terms, width=width if sharing == "neuron" else None, law=start, train=train, **runtime)
    first: Callable[[], nn.Module] = partial(series, omega0=omega0)
    others: Callable[[], nn.Module] = partial(series, omega0=hidden)
    if sharing == "network":
        shared = series(omega0=omega0)
        first = others = lambda: shared
    return CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=others,
        first_activation=first,
        skip=skip,
        weights=WEIGHT_LAWS[weights](),
        **runtime,
    )


def _start(arguments: Entries) -> str:
    extra = arguments.get("terms", TERMS) - 1
    return f"the activation starts at SIREN's sine, with {extra} weaker term{'' if extra == 1 else 's'} below omega0"


# The published networks: Theorem 3.1's law or the released code's, always with torch's own weights.
PAPER = {"terms": TERMS, "omega0": 30.0, "hidden_omega0": 30.0, "law": "theorem", "weights": "torch"}
RELEASED = {**PAPER, "law": "released"}
AUDIO = {"omega0": 3000.0}
DENOISING = {"terms": 2, "omega0": 5.0, "hidden_omega0": 5.0}
PRESETS = {
    "paper_image": Preset(
        "The image network as the paper states it: Theorem 3.1's law, torch's weights, omega0 30.", "paper_image", PAPER
    ),
    "released_image": Preset(
        "The image network as the authors' code builds it: Laplace scale 1/(2 tau), skips, omega0 60 then 30.",
        "paper_image",
        {**RELEASED, "omega0": 60.0, "skip": True},
    ),
    "paper_audio": Preset(
        "The paper's audio network: omega0 3000 in the first layer, 30 in the others.",
        "paper_audio",
        {**PAPER, **AUDIO},
    ),
    "released_audio": Preset(
        "The audio network with the released code's amplitude law.", "paper_audio", {**RELEASED, **AUDIO}
    ),
    "paper_shape": Preset("The paper's occupancy network: omega0 30 throughout.", "paper_shape", PAPER),
    "released_shape": Preset("The occupancy network with the released code's amplitude law.", "paper_shape", RELEASED),
    "paper_super_resolution": Preset(
        "The paper's super-resolution network: omega0 30 throughout.", "paper_super_resolution", PAPER
    ),
    "released_super_resolution": Preset(
        "The super-resolution network with the released code's amplitude law.", "paper_super_resolution", RELEASED
    ),
    "paper_denoising": Preset(
        "The paper's denoising network: two terms, omega0 5.", "paper_denoising", {**PAPER, **DENOISING}
    ),
    "released_denoising": Preset(
        "The denoising network with the released code's amplitude law and rate.",
        "released_denoising",
        {**RELEASED, **DENOISING},
    ),
}

SPEC = NetworkSpec(
    "staf",
    staf,
    formula=r"$\sum_i C_i \sin(\Omega_i x + \Phi_i)$, trained",
    source="Morsali et al., *A Unified Theory of Sinusoidal Activation Families for Implicit Neural Representations*",
    rates=Rates(
        full_batch=3e-3,
        soap=3e-3,
        # kodim03 at 7e-4, 1.5e-3, 3e-3: after 50 steps 29.3, 33.4, 33.3 dB, after 100 36.9, 41.8, 40.9, after 200 47.4,
        # 49.8, 48.5; between the pixels 3e-3 is worst.
        short=1.5e-3,
        # 64x64 kodim13, 150 steps: at 3e-3 63.5 dB, and 24.2 dB between the pixels; at 1e-3 67.0 and 26.6; at 5e-4 68.9
        # and 31.0. Blurred: 61.3 and 26.5; 66.5 and 30.7; 64.7 and 39.2. Few steps cannot be that small: of 40, 39.0
        # and 22.9 dB; 35.4 and 33.4; 25.7 and 25.8.
        small=(1e-3, 5e-4),
        medium=5e-4,
        mini_batch=(2e-3, 1e-3),
        # One second of the paper's recording, 1,000 steps on a GPU: at 3e-3 STAF falls to silence, 18 dB, with first
        # sines of 200 to 1,600 Hz alike; at 2.1e-3 it ends at 75.3 dB, at 1.5e-3 74.3, at 1e-3 68.5, at 6e-4 66.0.
        # SIREN's own 1e-3 gives 70.4.
        audio_factor=0.5,
        # By `python -m benchmarks.sweeps.cpu_sound_rates`.
        audio_mini_batch=5e-4,
    ),
    first_layer=SineLayer(spreads=True),
    restoration={
        # Seen at 64x64, after 1,000 steps: hidden 20 gives 29.1 dB, 10 29.5, 5 30.2; 0.1 a pixel 29.8, 0.2 29.5, 0.3
        # 29.3; four points a pixel 29.7; Lanczos 29.3.
        "super_resolution": Settings(3e-3, per_pixel=0.15, constants={"hidden_omega0": 5.0}),
        "inpainting": Settings(3e-3, per_pixel=0.0585, constants={"hidden_omega0": 3.57}),
        # Two terms as the paper. omega0 20 and 10 in the hidden layers give 24.3 dB, 10 and 10 24.9, 10 and 5 26.5, 5
        # and 5 27.7; at half the rate 7 and 5 27.8, and then the last step is the best one, while at the full rate the
        # noise is learnt soon after it.
        "denoising": Settings(1.5e-3, constants={"omega0": 7.0, "hidden_omega0": 5.0, "terms": 2}),
        # The Shepp-Logan phantom at 64x64, 40 views, 150 steps: 0.3 and 10 give 30.1 dB, at three times the rate 25.0;
        # 0.5 and 20 25.2; the constants of super-resolution 26.5.
        "tomography": Settings(1e-3, per_pixel=0.3, constants={"hidden_omega0": 10.0}),
    },
    # omega0 40 is the paper's for scenes.
    scene={
        "radiance": Settings(1e-3, constants={"activation": "staf", "omega0": 40.0}),
        "radiance_grid": Settings(2e-3, constants={"activation": "staf"}),
    },
    presets=PRESETS,
    trained_activation=True,
    start=_start,
    decoder="staf",
    summary="sum of 5 sinusoids, trained per layer, per neuron or per network",
    rows=(
        Row("`terms=5`, `omega0=90` first layer, `hidden_omega0=30`", "`siren`", 198_975, note=" (10 terms: 199,035)"),
    ),
)
