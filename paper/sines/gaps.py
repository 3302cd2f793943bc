"""Gaps in sound: the middle of each piece is not fitted, and the networks are measured there alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from paper.sines.signals import Problem, pitch_start

# Harmonics of a made tone, whose loudness falls as 1/k.
HARMONICS = 8


def tones(count: int, rate: int, seconds: float) -> list[Any]:
    """Steady harmonic sounds: a fundamental between 100 and 300 Hz and its overtones, each with a phase of its own.

    >>> [tone.samples for tone in tones(2, 8000, 0.1)]
    [800, 800]
    """
    from staf.kinds import Audio

    found, time = [], np.arange(round(seconds * rate)) / rate
    for number in range(count):
        rng = np.random.default_rng(number)
        pitch, phases = rng.uniform(100, 300), rng.uniform(-np.pi, np.pi, HARMONICS)
        waves = [np.sin(2 * np.pi * k * pitch * time + phase) / k for k, phase in enumerate(phases, 1)]
        found.append(Audio((0.3 * np.sum(waves, 0)).astype(np.float32), rate, name=f"{pitch:.0f} Hz"))
    return found


def gaps(pieces: Sequence[Any], gap: float) -> Problem:
    """Sounds of equal length whose middle `gap` seconds are to be filled."""
    tasks = [Gap(piece, gap) for piece in pieces]
    return Problem(
        tasks,
        [piece.name for piece in pieces],
        "gap_db",
        constants={"omega0": 30.0, "hidden_omega0": 30.0},
        starts=[pitch_start(task.heard) for task in tasks],
    )


def gap_mask(samples: int, rate: int, gap: float) -> torch.Tensor:
    """Which samples are heard: all but round(gap * rate) in the middle.

    >>> gap_mask(8, 1000, 0.002).int().tolist()
    [1, 1, 1, 0, 0, 1, 1, 1]
    """
    size = min(max(1, round(gap * rate)), samples - 2)
    first = (samples - size) // 2
    mask = torch.ones(samples, dtype=torch.bool)
    mask[first : first + size] = False
    return mask


class Gap:
    """A sound of which a part is not observed; `gap_db` is the signal-to-noise ratio there, 0 dB being silence.

    >>> from staf.kinds import Audio
    >>> task = Gap(Audio(np.sin(np.arange(100) / 5).astype(np.float32), 1000), 0.02)
    >>> task.points, round(task.evaluate(lambda x: torch.zeros(len(x), 1))["gap_db"], 6)
    (80, 0.0)
    """

    def __init__(self, piece: Any, gap: float) -> None:
        from staf.kinds import Audio
        from staf.operators import Mask
        from staf.tasks import InverseProblem

        self.mask = gap_mask(piece.samples, piece.rate, gap)
        self._task: Any = InverseProblem.observing(piece, Mask(self.mask))
        # What a start may look at: silence where nothing is observed.
        silent = piece.array.reshape(piece.samples, -1) * self.mask[:, None].numpy()
        self.heard = Audio(silent.astype(np.float32), piece.rate, name=piece.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._task, name)

    def to(self, device: torch.device | str) -> Gap:
        self._task.to(device)
        return self

    def evaluate(self, predict: Any) -> dict[str, float]:
        found: dict[str, float] = self._task.evaluate(predict)
        signal = self._task.transform.fitted(self._task.truth.values()).double()
        error = (self._task.predict(predict).cpu().double() - signal)[~self.mask]
        powers = [max(float(part.square().mean()), 1e-20) for part in (signal[~self.mask], error)]
        return {**found, "gap_db": 10 * math.log10(powers[0] / powers[1])}
