"""Progress of several runs: a line per run, with the time left."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping

# Measures that a line has room for.
SHOWN = 6


class SweepProgress:
    """Writes to stderr which runs are finished, how well they ended, and the time left for the others."""

    def __init__(self, total: int, pending: int, *, shown: bool) -> None:
        self.total, self.pending, self.shown = total, pending, shown
        self.finished = 0
        self.started = time.monotonic()
        if pending < total:
            self._write(f"{total - pending} of {total} runs are already done")

    def start(self, label: str) -> None:
        self._write(f"[{self.total - self.pending + self.finished + 1}/{self.total}] {label} ...")

    def finish(self, label: str, metrics: Mapping[str, float], failure: str | None = None) -> None:
        """One run has ended with `metrics`, or failed for the reason given."""
        self.finished += 1
        left = (time.monotonic() - self.started) / self.finished * (self.pending - self.finished)
        measured = ", ".join(f"{name} {value:.4g}" for name, value in list(metrics.items())[:SHOWN])
        ended = measured if failure is None else f"failed: {failure}"
        rest = f"; {_duration(left)} left" if self.finished < self.pending else ""
        self._write(f"[{self.total - self.pending + self.finished}/{self.total}] {label}: {ended}{rest}")

    def _write(self, line: str) -> None:
        if self.shown:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60:02d}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02d}m"
