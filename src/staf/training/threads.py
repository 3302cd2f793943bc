"""How many threads a CPU step uses, where other programs want the processor too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import torch

Result = TypeVar("Result")

# Threads that get less of the processor than this share wait for each other; a step shorter than this says little.
STARVED, SHORTEST = 0.75, 0.005
# Another number of threads must be this much faster to be kept. It is tried again after this many steps, twice as many
# after each trial in vain, up to the most.
FASTER, SOON, LATE = 0.95, 4, 64


class Threads:
    """Runs steps with torch's own number of threads while they get the processor, and with fewer while they do not.

    Threads of one step wait for the slowest of them, so that one other busy program can make a step with two threads
    three times as slow as with one. On a machine that is not busy nothing is tried, and every step uses the given
    number. torch's setting is put back after each step.

    >>> Threads().run(lambda: 5)
    5
    """

    def __init__(
        self,
        given: int | None = None,
        wall: Callable[[], float] = time.perf_counter,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        self.given = torch.get_num_threads() if given is None else given
        self.current = self.given
        self._wall, self._processor = wall, processor
        self._trial: int | None = None
        self._seconds = 0.0
        self._rest, self._patience = 0, SOON

    def run(self, step: Callable[[], Result]) -> Result:
        """Take one step, and learn from the time it took."""
        if self.given == 1:
            return step()
        count = self.current if self._trial is None else self._trial
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        wall, processor = self._wall(), self._processor()
        try:
            return step()
        finally:
            torch.set_num_threads(before)
            self._learn(count, self._wall() - wall, self._processor() - processor)

    def _learn(self, count: int, wall: float, processor: float) -> None:
        if self._trial is not None:
            kept = wall < FASTER * self._seconds
            self.current = count if kept else self.current
            self._patience = SOON if kept else min(LATE, 2 * self._patience)
            self._trial, self._rest = None, self._patience
            return
        self._rest = max(0, self._rest - 1)
        if self._rest or wall < SHORTEST:
            return
        received = processor / wall
        if count > 1 and received < STARVED * count:
            self._trial = max(1, min(count - 1, int(received)))
        elif count < self.given:
            self._trial = self.given
        self._seconds = wall
