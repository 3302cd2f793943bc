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

# Pitch of the fastest sine that the first layer starts with. The paper's omega0 of 3000 for seven seconds is 136 Hz.
# One second of the paper's recording, width 64, 300 steps of 8,192 samples: 136 Hz 37 dB, 400 Hz 46 dB, 1 kHz 46 dB.
FIRST_HZ = 400.0
# Weights for each sample that a window's network gets: the paper's 198,000 for 308,207.
WEIGHTS_PER_SAMPLE = 0.64
SINES = ("staf", "siren", "finer", "wire", "incode")


def audio_field(model: str, signal: Any, generator: torch.Generator, **arguments: Any) -> nn.Module:
    """A network for audio whose first layer starts with sines of up to FIRST_HZ, whatever the recording's length.

    The coordinate spans the whole recording, so that the first frequencies must grow with it. A large omega0 would do
    it and multiply the steps of the first layer too, which then never settle (400 Hz over one second by omega0 1257
    and a rate of 3e-3 ends in silence); so the first weights are enlarged, and omega0 stays what it is for images.

    >>> from types import SimpleNamespace
    >>> second = SimpleNamespace(out_features=1, seconds=1.0, samples=8000, rate=8000)
    >>> field = audio_field("siren", second, torch.Generator().manual_seed(0), width=512)
    >>> 399 < 30 * float(field.layers[0].weight.abs().max()) / (torch.pi * second.seconds) < 400
    True
    """
    if model == "incode":
        arguments = {"harmoniser": "audio", "sample_rate": signal.rate, **arguments}
    elif model == "pemlp":
        arguments = {"bands": nyquist_bands(signal.samples), **arguments}
    elif model == "ffn":
        # The scale is in cycles per unit of the coordinate, which spans half of the recording.
        arguments = {"scale": FIRST_HZ * signal.seconds / 2, **arguments}
    field: Any = models.MODELS[model](1, signal.out_features, generator=generator, **arguments)
    if model in SINES:
        omega0 = field.architecture["arguments"]["omega0"]
        first = next(p for p in field.parameters() if p.dim() == 2 and p.shape[1] == 1)
        with torch.no_grad():
            first.mul_(math.pi * FIRST_HZ * signal.seconds / omega0)
    return field


def audio_reason(signal: Any, model: str) -> str:
    """Why the network is as it is, in words."""
    if model in SINES:
        return f"first weights enlarged to sines of up to {FIRST_HZ:g} Hz over {signal.seconds:.3g} s"
    if model == "pemlp":
        return f"{nyquist_bands(signal.samples)} bands for {signal.samples:,} samples"
    return f"features of about {FIRST_HZ:g} Hz over {signal.seconds:.3g} s" if model == "ffn" else "its own constants"


def audio_window(signal: Any, *, steps: int = 1000) -> Plan:
    """STAF for one window of a long recording, as large as the window is long; full batches.

    >>> from types import SimpleNamespace
    >>> second = SimpleNamespace(out_features=1, seconds=1.0, samples=44100, rate=44100)
    >>> sum(p.numel() for p in audio_window(second).field(0).parameters())
    28285
    """
    wanted = WEIGHTS_PER_SAMPLE * signal.samples * signal.out_features
    width = max(16, 8 * round(math.sqrt(wanted / 3) / 8))

    def factory(generator: torch.Generator) -> nn.Module:
        return audio_field("staf", signal, generator, width=width)

    reasons = [
        f"windows of {signal.seconds:.3g} s, each with coordinates of its own, 4 activated layers of {width}",
        audio_reason(signal, "staf"),
    ]
    return Plan(factory, recipes.default(steps=steps), reasons, "audio_window")
