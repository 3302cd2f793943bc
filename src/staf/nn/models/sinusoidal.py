"""The networks of sines: STAF, SIREN, FINER, INCODE."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import nn

from staf.nn._architecture import Device, Runtime, model
from staf.nn._arguments import Depth, NonNegative, Positive, Rate, Real, Size, Terms, refuse_unused
from staf.nn.activations import Finer, Sine
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.harmonised_network import Incode
from staf.nn.harmoniser import Harmoniser, SignalName
from staf.nn.init import LAWS, WEIGHT_LAWS, LawName, SirenStart, SirenWeights, Spread, WeightLawName
from staf.nn.sine_series import PARTS, Part, SineSeries

Sharing = Literal["layer", "neuron", "network"]


@model
def staf(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    terms: Terms = 5,
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

    The default starts as SIREN with faint extra terms, which trains best; the paper's network is
    `staf(d, c, omega0=30, law="theorem", weights="torch")`, its released code
    `staf(d, c, omega0=60, law="released", weights="torch", skip=True)`.

    Args:
        terms: sinusoids per activation (tau).
        omega0: highest starting frequency of the first layer.
        hidden_omega0: of the other layers; 30, or `omega0` where `sharing="network"`.
        law: `siren_start`, `theorem` or `released`, see `staf.nn.init`.
        extra_amplitude: of `siren_start` alone: the size of the extra terms.
        spread: of `siren_start` alone: whether the extra frequencies are `even` up to omega0 or `random`.
        weights: `siren`, `torch` or `unit_gain`.
        sharing: one set of sinusoids per `layer`, per `neuron`, or one for the whole `network`.
        skip: z = rho(a) + a in hidden layers.
        train: which of amplitude, frequency, phase are trained; the others stay at their start.

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


@model
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


@model
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


@model
def incode(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    omega0: Positive = 30.0,
    hidden_omega0: Positive = 30.0,
    harmoniser: SignalName | None = "image",
    sample_rate: Rate | None = None,
    head_bias: Real = 0.312,
    penalty: tuple[NonNegative, NonNegative, NonNegative, NonNegative] = (0.1993, 0.0196, 0.0588, 0.0269),
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> Incode:
    """INCODE (Kazerouni et al. 2024): exp(a) sin(exp(b) omega0 x + c) + d, with a, b, c, d read from the target.

    Args:
        harmoniser: what the target is, `image`, `audio` or `shape`; None for a field whose four numbers are constants.
        sample_rate: of audio, 44100 by default.
        head_bias: where the four numbers start.
        penalty: weights of relu(-a), relu(-b), relu(-c), relu(-d) in the loss.

    >>> sum(p.numel() for p in incode(2, 3).parameters())
    436775
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    if harmoniser != "audio":
        refuse_unused(f"with harmoniser={harmoniser!r}", sample_rate=(sample_rate, None))
    composer = CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=partial(Sine, hidden_omega0),
        first_activation=partial(Sine, omega0),
        weights=SirenWeights(),
        **runtime,
    )
    reader = None
    if harmoniser is not None:
        reader = Harmoniser(harmoniser, sample_rate=sample_rate or 44100, head_bias=head_bias, **runtime)
    return Incode(composer, reader, coefficients=head_bias, penalty=penalty)
