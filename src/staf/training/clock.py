"""The time of a training: what is counted of it, and how much of the budget is over."""

from __future__ import annotations

import time

from staf.training.processes import Processes

# First steps on a GPU that take longer than this compile kernels, once on a machine: the clock then starts after them,
# and stands still where a recorded step of other shapes needs other kernels.
COMPILING = 1.0


class Clock:
    """Counts the seconds of a training, of which the first of several processes decides.

    Args:
        seconds: of the budget, if it has any.
        steps: of the budget, if it has any.

    >>> from staf.training.processes import current
    >>> Clock(None, 20, current()).fraction(5)
    0.25
    """

    def __init__(self, seconds: float | None, steps: int | None, processes: Processes) -> None:
        self.seconds, self.steps, self._processes = seconds, steps, processes
        # Seconds of an earlier part of a training that is resumed.
        self.before = 0.0
        # Seconds until the first steps were done. Compiling and recording are not part of a schedule over seconds: a
        # slow start would skip the rise of its rates.
        self.waited = 0.0
        self.started = time.monotonic()

    def elapsed(self) -> float:
        return self._processes.agree(self.before + time.monotonic() - self.started)

    def is_over(self) -> bool:
        """Whether the budget's seconds are."""
        return self.seconds is not None and self.elapsed() >= self.seconds

    def fraction(self, step: int) -> float:
        """How much of the training is over at a step."""
        return self._fraction(step, 0.0)

    def planned(self, step: int) -> float:
        """The same of what comes after the first steps, which schedules follow."""
        return self._fraction(step, self.waited)

    def _fraction(self, step: int, start: float) -> float:
        by_steps, by_time = step / self.steps if self.steps else 0.0, 0.0
        if self.seconds is not None and self.seconds > start:
            by_time = (self.elapsed() - start) / (self.seconds - start)
        return min(1.0, max(by_steps, by_time))

    def count(self, took: float, *, is_cuda: bool, is_warming_up: bool) -> str | None:
        """After every group of steps; a sentence where the first of them were spent on compiling.

        Args:
            took: seconds of the group.
            is_warming_up: whether steps of the group were the first ones of their shapes.
        """
        if self.waited:
            if is_warming_up and took > COMPILING:
                self.started += took
            return None
        self.waited = self.elapsed() - self.before
        if self.waited <= COMPILING or not is_cuda:
            return None
        said = f"compiling kernels took {self.waited:.0f} s, once on this machine: time is counted from there"
        self.started += self.waited
        self.waited = 1e-9
        return said
