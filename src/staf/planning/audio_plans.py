"""What audio asks of each network: first layers fast enough for its length, and small networks for its windows."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from staf.nn import models
from staf.nn.encodings import nyquist_bands
from staf.planning import recipes
from staf.planning.plans import Plan
from staf.planning.rates import AUDIO_SOAP_RATES, SOAP_STEPS, WIRE
from staf.planning.spectrum import WIDTH, first_hertz
from staf.planning.words import batch_in_words, optimiser_in_words

# Weights for each sample that a window's network gets: the paper's 198,000 for 308,207.
WEIGHTS_PER_SAMPLE = 0.64
SINES = ("staf", "siren", "finer", "wire", "incode")


def audio_field(
    model: str, signal: Any, generator: torch.Generator, *, hertz: float | None = None, **arguments: Any
) -> nn.Module:
    """A network for audio whose first layer starts with sines of up to `hertz`, by default those of the spectrum.

    The coordinate spans the whole recording, so that the first frequencies must grow with it. A large omega0 would do
    it and multiply the steps of the first layer too, which then never settle (400 Hz over one second by omega0 1257
    and a rate of 3e-3 ends in silence); so the first weights are enlarged, and omega0 stays what the network has.

    >>> from types import SimpleNamespace
    >>> second = SimpleNamespace(out_features=1, seconds=1.0, samples=8000, rate=8000)
    >>> field = audio_field("siren", second, torch.Generator().manual_seed(0), hertz=400.0, width=512)
    >>> 399 < 30 * float(field.layers[0].weight.abs().max()) / (torch.pi * second.seconds) < 400
    True
    """
    if hertz is None:
        hertz, _ = first_hertz(signal, signal.seconds, width=arguments.get("width", WIDTH))
    if model == "wire":
        arguments = {**WIRE, **arguments}
    elif model == "incode":
        arguments = {"harmoniser": "audio", "sample_rate": signal.rate, **arguments}
    elif model == "pemlp":
        arguments = {"bands": nyquist_bands(signal.samples), **arguments}
    elif model == "ffn":
        # The scale is in cycles per unit of the coordinate, which spans half of the recording.
        arguments = {"scale": hertz * signal.seconds / 2, **arguments}
    field: Any = models.MODELS[model](1, signal.out_features, generator=generator, **arguments)
    if model in SINES:
        times = math.pi * hertz * signal.seconds / field.architecture["arguments"]["omega0"]
        if model == "finer":
            # Its sine speeds up with x, without a bias to omega0 (2 x + 1) x at the ends; biases add to that.
            times = (math.sqrt(1 + 8 * times) - 1) / 4
        first = next(p for p in field.parameters() if p.dim() == 2 and p.shape[1] == 1)
        with torch.no_grad():
            first.mul_(times)
    return field


def audio_reason(signal: Any, model: str, hertz: float, why: str) -> str:
    """What the network starts with, in words; `hertz` and `why` come from `spectrum.first_hertz`."""
    if model in SINES:
        biases = " and more by their biases" if model == "finer" else ""
        return f"the first layer starts with sines of up to {hertz:,.0f} Hz{biases}, from the spectrum: {why}"
    if model == "pemlp":
        return f"{nyquist_bands(signal.samples)} bands for {signal.samples:,} samples"
    if model == "ffn":
        return f"features of about {hertz:,.0f} Hz, from the spectrum: {why}"
    return "its own constants"


def audio_window(signal: Any, *, whole: Any = None, steps: int = 1000) -> Plan:
    """STAF for one window of a long recording, as large as the window is long; full batches.

    `whole` is the recording, whose spectrum all its windows share; by default the window's own is used.

    >>> from types import SimpleNamespace
    >>> second = SimpleNamespace(out_features=1, seconds=1.0, samples=44100, rate=44100)
    >>> sum(p.numel() for p in audio_window(second).field(0).parameters())
    28285
    """
    wanted = WEIGHTS_PER_SAMPLE * signal.samples * signal.out_features
    width = max(16, 8 * round(math.sqrt(wanted / 3) / 8))
    hertz, why = first_hertz(whole or signal, signal.seconds, width=width)

    def factory(generator: torch.Generator) -> nn.Module:
        return audio_field("staf", signal, generator, hertz=hertz, width=width)

    recipe = recipes.default(steps=steps)
    if steps >= SOAP_STEPS:
        rate = AUDIO_SOAP_RATES["staf"]
        recipe = recipes.full_batch(steps=steps).replace(rate=rate, matrix_rate=rate)
    reasons = [
        f"windows of {signal.seconds:.3g} s, each with coordinates of its own, 4 activated layers of {width}",
        audio_reason(signal, "staf", hertz, why),
        optimiser_in_words(recipe, complex_weights=False),
        f"learning rates of {recipe.rate:g}",
        batch_in_words(recipe, signal.samples),
    ]
    return Plan(factory, recipe, reasons, "audio_window")
