"""What audio asks of each network: first layers fast enough for its length, and small networks for its windows."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from ..nn import models
from ..nn.encodings import nyquist_bands
from . import recipes
from .plans import Plan

# Cycles per second that the first layer can start at. A coordinate spans the recording, so that omega0 must grow with
# its length: the paper's 3000 for seven seconds is 136 Hz. Higher ones come from the layers above.
FIRST_HZ = 136.0
# Weights for each sample that a window's network gets: the paper's 198,000 for 308,207.
WEIGHTS_PER_SAMPLE = 0.64


def omega0_of(seconds: float, hertz: float = FIRST_HZ) -> float:
    """omega0 of a first layer whose fastest sine has `hertz` on a coordinate in [-1, 1] that spans `seconds`.

    >>> round(omega0_of(7.0))
    2991
    """
    return math.pi * hertz * seconds


def audio_arguments(signal: Any, model: str) -> dict[str, Any]:
    """Constants of `model` for audio: the same first frequency for all that have one, and what each reads else.

    >>> from types import SimpleNamespace
    >>> audio_arguments(SimpleNamespace(seconds=7.0, samples=308700, rate=44100), "pemlp")
    {'bands': 16}
    """
    omega0 = omega0_of(signal.seconds)
    if model in ("staf", "siren", "finer", "wire"):
        return {"omega0": omega0, "hidden_omega0": 30.0}
    if model == "incode":
        return {"omega0": omega0, "hidden_omega0": 30.0, "harmoniser": "audio", "sample_rate": signal.rate}
    if model == "pemlp":
        return {"bands": nyquist_bands(signal.samples)}
    if model == "ffn":
        # The scale is in cycles per unit of the coordinate, which spans half of the recording.
        return {"scale": FIRST_HZ * signal.seconds / 2}
    return {}


def audio_window(signal: Any, *, steps: int = 1000) -> Plan:
    """STAF for one window of a long recording, as large as the window is long; full batches.

    >>> from types import SimpleNamespace
    >>> second = SimpleNamespace(out_features=1, seconds=1.0, samples=44100, rate=44100)
    >>> sum(p.numel() for p in audio_window(second).field(0).parameters())
    28285
    """
    wanted = WEIGHTS_PER_SAMPLE * signal.samples * signal.out_features
    width = max(16, 8 * round(math.sqrt(wanted / 3) / 8))
    omega0 = omega0_of(signal.seconds)

    def factory(generator: torch.Generator) -> nn.Module:
        return models.staf(1, signal.out_features, width=width, omega0=omega0, hidden_omega0=30.0, generator=generator)

    reasons = [
        f"windows of {signal.seconds:.3g} s, each with coordinates of its own, 4 activated layers of {width}",
        f"omega0 {omega0:.0f} in the first layer: sines of up to {FIRST_HZ:g} Hz to start from, as the paper",
    ]
    return Plan(factory, recipes.default(steps=steps), reasons, "audio_window")
