"""Seconds: the median of repeats, by CUDA events on a GPU and by the wall clock elsewhere."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Effort:
    """How much time one timing may take: as many repeats as fit into `seconds`, within limits."""

    seconds: float = 0.6
    least: int = 3
    most: int = 60

    def repeats(self, one: float) -> int:
        """How many repeats of `one` second each; a run longer than the whole effort is timed once.

        >>> Effort(seconds=1.0, least=3, most=60).repeats(0.1), Effort().repeats(0.4), Effort().repeats(5.0)
        (10, 3, 1)
        """
        if one > 5 * self.seconds:
            return 1
        return max(self.least, min(self.most, int(self.seconds / max(one, 1e-9))))


def synchronise(device: str) -> None:
    """Wait until the device has done all it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def once(run: Callable[[], object], device: str) -> float:
    """Seconds of one run from call to finished result, by the wall clock."""
    synchronise(device)
    start = time.perf_counter()
    run()
    synchronise(device)
    return time.perf_counter() - start


def seconds_of(
    run: Callable[[], object],
    device: str,
    repeats: int,
    *,
    wall: bool = False,
    pick: Callable[[Iterable[float]], float] = statistics.median,
) -> float:
    """The median of `repeats` runs, or what `pick` makes of them.

    On a GPU runs are queued one after another and timed by events, as in a training loop; with `wall`, each is waited
    for, as a caller who needs the answer would.
    """
    if wall or not device.startswith("cuda"):
        return pick([once(run, device) for _ in range(repeats)])
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    torch.cuda.synchronize(device)
    for start, end in events:
        start.record()
        run()
        end.record()
    torch.cuda.synchronize(device)
    return pick([start.elapsed_time(end) / 1e3 for start, end in events])
