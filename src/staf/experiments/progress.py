"""Progress of a sweep: a line per run, with the time left."""

from __future__ import annotations

import math
import sys
import time

from staf.experiments.result import Result


class SweepProgress:
    """Writes to stderr what is finished, how well, and when the rest will be."""

    def __init__(self, total: int, pending: int, workers: int, *, shown: bool) -> None:
        self.total, self.pending, self.workers, self.shown = total, pending, workers, shown
        self.finished = 0
        self.started = time.monotonic()
        if pending < total:
            self._say(f"{total - pending} of {total} runs are already done")

    def start(self, label: str) -> None:
        self._say(f"[{self.total - self.pending + self.finished + 1}/{self.total}] {label} ...")

    def finish(self, label: str, result: Result) -> None:
        self.finished += 1
        left = (time.monotonic() - self.started) / self.finished * (self.pending - self.finished)
        if result.failed:
            what = f"failed: {result.summary}"
        else:
            what = ", ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
        rest = f"; {_duration(left)} left" if self.finished < self.pending else ""
        self._say(f"[{self.total - self.pending + self.finished}/{self.total}] {label}: {what}{rest}")

    def _say(self, sentence: str) -> None:
        if self.shown:
            sys.stderr.write(sentence + "\n")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60:02d}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02d}m"
