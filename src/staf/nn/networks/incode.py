"""INCODE: sines whose constants a second network reads from the target."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from staf._documents import Document
from staf.nn.activations import Sine
from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, NonNegative, Positive, Rate, Real, Size, refuse_unused
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.first_layer import SineLayer
from staf.nn.harmonised_network import Incode
from staf.nn.harmoniser import Harmoniser, SignalName
from staf.nn.init import SirenWeights
from staf.nn.networks.spec import Constants, NetworkSpec, Rates, Row, Settings, decay, paper_presets


@network
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
        harmoniser: the kind of target: `image`, `denoising` (a noisy image), `audio` or `shape`; None for a field whose
            four numbers are constants.
        sample_rate: that of audio, by default 44100.
        head_bias: the initial values of the four numbers.
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


def published_reader(task: str, signal: Any) -> Document:
    """The harmoniser of a task, and the rate of what it reads."""
    if task == "audio":
        return {"harmoniser": "audio", "sample_rate": getattr(signal, "signal", signal).rate}
    return {"harmoniser": "image" if task == "super_resolution" else task}


# Its authors' notebooks; a step of theirs sees 65,536 points.
PRESETS = paper_presets(
    "INCODE",
    {"rate": 9e-4, "schedule": decay(0.1)},
    arguments={
        "audio": {"omega0": 3000.0},
        "denoising": {"omega0": 10.0, "head_bias": 0.0005},
    },
    changes={
        "image": {"batch": 65_536},
        "audio": {"rate": 9e-5, "schedule": decay(0.2)},
        "shape": {"rate": 1e-4, "schedule": decay(0.2)},
        "super_resolution": {"batch": 65_536},
        "denoising": {"rate": 1.5e-4, "batch": 65_536},
    },
    from_signal=published_reader,
)

SPEC = NetworkSpec(
    "incode",
    incode,
    formula=r"$e^a \sin(e^b \omega_0 x + c) + d$, the four read from the target",
    source="Kazerouni et al., *INCODE: Implicit Neural Conditioning with Prior Knowledge Embeddings*, 2024",
    rates=Rates(full_batch=1e-3, soap=1e-3, mini_batch=(1e-3, 5e-4)),
    first_layer=SineLayer(factor=0.5),
    constants={
        "audio": Constants({"harmoniser": "audio"}, from_signal={"sample_rate": "rate"}),
        "shape": Constants({"harmoniser": "shape"}),
        # Arrays have any number of axes and channels, and no published reader.
        "grid": Constants({"harmoniser": None}),
    },
    restoration={
        "super_resolution": Settings(1e-3, per_pixel=0.15, constants={"hidden_omega0": 5.0}),
        "inpainting": Settings(1e-3, per_pixel=0.0585, constants={"hidden_omega0": 3.57}),
        "denoising": Settings(1.52e-4, constants={"omega0": 9.58, "hidden_omega0": 24.7}),
    },
    presets=PRESETS,
    summary="a sine whose four constants are read from the target",
    rows=(
        Row(
            "`omega0=30`, `hidden_omega0=30`, `head_bias=0.312`, `penalty=(0.1993, 0.0196, 0.0588, 0.0269)`",
            "SIREN's",
            436_775,
        ),
    ),
)
