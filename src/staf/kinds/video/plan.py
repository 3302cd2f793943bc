"""What videos change of the rules of planning."""

from __future__ import annotations

import dataclasses
from functools import partial

from staf.planning.capacity import HOLDS, hash_grid
from staf.planning.first_frequency import from_spectrum
from staf.planning.situation import Choice, Rule, Situation

# How many pixels the time from a frame to the next counts as, in the first layer. Faster sines fit the frames as well
# and are noise between them (docs/results/video.md).
PIXELS_PER_FRAME = 2.0


def capacity(s: Situation) -> Choice:
    """The network asked for, if it can hold the clip; otherwise its activation behind a hash grid of (t, y, x)."""
    shape = tuple(s.signal.shape)
    if s.asked.grid:
        return hash_grid(s, shape, "")
    values, parameters = s.signal.points * s.signal.out_features, s.asked.rows[0].parameters if s.asked.rows else 0
    if s.asked.decoder is None or values <= HOLDS * parameters:
        return Choice()
    return hash_grid(s, shape, f"{parameters:,} parameters cannot hold {values:,} values: ")


def first_frequency(s: Situation) -> Choice:
    """As for any grid, with slower sines along time where there are fewer frames than pixels."""
    usual, first = from_spectrum(s), s.spec.first_layer
    frames, *sides = s.signal.shape
    ratio = PIXELS_PER_FRAME * frames / max(frames, *sides)
    if not first.follows_omega0 or ratio >= 1:
        return usual
    reason = f"{usual.reason}; along time {ratio:.2g} times as fast, so that there are pictures between the frames"
    return dataclasses.replace(usual, reason=reason, start=partial(first.slow_down, axis=0, ratio=ratio))


RULES: dict[str, Rule] = {"capacity": capacity, "first_frequency": first_frequency}
