"""What recordings change of the rules of planning, and the plan of one window of a long recording."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from staf.nn.networks import network_named
from staf.planning import rules
from staf.planning.capacity import too_small
from staf.planning.first_frequency import WIDTH, at_pitch, first_hertz, from_pitch
from staf.planning.plans import Budget, NetworkFactory, Plan, plan
from staf.planning.situation import Choice, Rule, Situation

# Weights for each sample that a window's network gets: the paper's 198,000 for 308,207.
WEIGHTS_PER_SAMPLE = 0.64
# Samples for each parameter up to which a recording is held. A quarter of a second of a cello (STAF of 48, 32 and 24
# neurons, 800 steps, CPU, seed 0) ends at 49.9, 33.4 and 24.6 dB with 1.5, 3.3 and 5.7 of them.
HOLDS = 4
# Weights for each sample from which on mini-batches gain by a lower rate: measured in docs/recipes-evidence.md.
ROOM = 6


def optimiser(s: Situation) -> Choice:
    """SOAP for recordings that every step sees, where there is time for it; Muon otherwise."""
    return rules.soap(s) if s.batch is None and rules.is_long(s) else rules.muon(s)


def rate(s: Situation) -> Choice:
    """Slower than for pictures: full batches of audio fall to silence."""
    rates = s.spec.rates
    if rules.uses_soap(s):
        return rules.learning_rate(rates.audio_soap, rules.found_for(s))
    if rates.audio_mini_batch is not None and s.batch is not None and s.on_cpu and has_room(s):
        return rules.learning_rate(rates.audio_mini_batch, f"searched for {s.spec.name} on short recordings, on a CPU")
    if s.batch is not None or rates.audio_factor == 1:
        return rules.usual_rate(s)
    why = f"{rules.found_for(s)} times {rates.audio_factor:g}, because at higher rates the field falls to silence"
    return rules.learning_rate(rates.full_batch * rates.audio_factor, why)


def has_room(s: Situation) -> bool:
    """Whether there are steps enough, and weights enough for each sample, for a recording to be held to its noise."""
    parameters = s.parameters("rate", "size", "activation")
    return not rules.is_short(s) and parameters >= ROOM * s.points * int(s.source.out_features)


def size(s: Situation) -> Choice:
    """A word on a recording that is too long for one network."""
    windows = "staf fit-windows (staf.fit_windows) gives every part of it a network of its own"
    return too_small(s, s.points * int(s.source.out_features), "samples", windows, HOLDS)


RULES: dict[str, Rule] = {"first_frequency": from_pitch, "optimiser": optimiser, "rate": rate, "size": size}


def audio_field(
    model: str, signal: Any, generator: torch.Generator, *, hertz: float | None = None, **arguments: Any
) -> nn.Module:
    """A network for audio whose first layer starts with sines of up to `hertz`, by default those of the spectrum.

    >>> from types import SimpleNamespace
    >>> second = SimpleNamespace(in_features=1, out_features=1, seconds=1.0, samples=8000, rate=8000)
    >>> field = audio_field("siren", second, torch.Generator().manual_seed(0), hertz=400.0, width=512)
    >>> 399 < 30 * float(field.layers[0].weight.detach().abs().max()) / (torch.pi * second.seconds) < 400
    True
    """
    if hertz is None:
        hertz, _ = first_hertz(signal, signal.seconds, width=arguments.get("width", WIDTH))
    spec = network_named(model)
    situation = Situation(signal, Budget(), "cpu", spec, {"constants": rules.constants})
    first = at_pitch(spec, signal, hertz)
    assert first.start is not None
    chosen = {**situation.arguments, **first.arguments, **arguments}
    return NetworkFactory(spec, 1, signal.out_features, chosen, (first.start,))(generator)


def audio_window(signal: Any, *, whole: Any = None, steps: int = 1000) -> Plan:
    """STAF for one window of a long recording, as large as the window is long; full batches.

    `whole` is the recording, whose spectrum all its windows share; by default the window's own is used.

    >>> from types import SimpleNamespace
    >>> second = SimpleNamespace(in_features=1, out_features=1, points=44100, seconds=1.0, samples=44100, rate=44100)
    >>> sum(p.numel() for p in audio_window(second).field(0).parameters())
    28285
    """
    wanted = WEIGHTS_PER_SAMPLE * signal.samples * signal.out_features
    width = max(16, 8 * round(math.sqrt(wanted / 3) / 8))
    hertz, why = first_hertz(whole or signal, signal.seconds, width=width)

    def network(s: Situation) -> Choice:
        windows = f"windows of {signal.seconds:.3g} s, each with coordinates of its own"
        return Choice(f"{windows}, 4 activated layers of {width}", arguments={"width": width})

    def window_rate(s: Situation) -> Choice:
        rates = s.spec.rates
        return rules.learning_rate(rates.audio_soap if rules.uses_soap(s) else rates.full_batch)

    changes: dict[str, Rule | None] = {
        "network": network,
        "first_frequency": lambda s: at_pitch(s.spec, signal, hertz, why),
        "optimiser": optimiser,
        "rate": window_rate,
        "batch": lambda s: Choice(f"every step sees all {s.points:,} points", recipe={"batch": None}),
    }
    chosen = plan(signal, Budget(steps=steps), rules=changes)
    return Plan(chosen.field_factory, chosen.recipe, chosen.reasons, "audio_window")
