"""When each step of a fit was done, apart from the start: compiling kernels, recording the graph.

A history has the loss of every step and one time for a group of steps. The steps of a group are spread evenly over it,
and what the first group took beyond its steps is the start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.runner.experiment import Outcome, outcome_of
from staf.comparison.result_file import thin

if TYPE_CHECKING:
    from staf.api import Fit

LEVELS = (30, 35, 40, 45, 50)


@dataclass(frozen=True)
class Clock:
    """Seconds of the start, of one step, and of training up to the end of every step."""

    start: float
    step: float
    training: np.ndarray


def clock(seconds: Sequence[float]) -> Clock:
    """Read the times of a history.

    >>> read = clock([5.2, 5.2, 5.4, 5.4])
    >>> round(read.start, 6), round(read.step, 6), read.training.round(6).tolist()
    (5.0, 0.1, [0.1, 0.2, 0.3, 0.4])
    """
    if not len(seconds):
        return Clock(0.0, math.nan, np.zeros(0))
    times = np.asarray(seconds, float)
    ends = np.flatnonzero(np.append(np.diff(times) > 0, True))
    first = int(ends[0]) + 1
    if len(ends) == 1:
        # One group: nothing tells its start from its steps.
        return Clock(0.0, float(times[-1]) / len(times), times[-1] * np.arange(1, len(times) + 1) / len(times))
    counts = np.diff(ends)
    each = np.diff(times[ends]) / counts
    # The median of steps, so that one group that was held up does not move it.
    step = float(np.median(np.repeat(each, counts)))
    start = max(0.0, float(times[ends[0]]) - first * step)
    marks = np.concatenate([[-1], ends])
    training = np.interp(np.arange(len(times)), marks, np.concatenate([[0.0], times[ends] - start]))
    return Clock(start, step, training)


def smoothed(loss: Sequence[float], window: int) -> np.ndarray:
    """The mean of the last `window` losses: over an epoch of mini-batches it is the loss of all points.

    >>> smoothed([4.0, 2.0, 2.0], 2).tolist()
    [4.0, 3.0, 2.0]
    """
    if window == 1:
        return np.asarray(loss, float)
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(loss, float))])
    ends = np.arange(1, len(loss) + 1)
    starts = np.maximum(0, ends - window)
    return (sums[ends] - sums[starts]) / (ends - starts)


def first_times(seconds: np.ndarray, psnr: np.ndarray, levels: Sequence[float] = LEVELS) -> dict[str, float]:
    """Level -> the seconds at which it was first reached, for the levels that were.

    >>> first_times(np.array([1.0, 2.0]), np.array([31.0, 36.0]), (30, 35, 40))
    {'30': 1.0, '35': 2.0}
    """
    found = {}
    for level in levels:
        reached = np.flatnonzero(psnr >= level)
        if len(reached):
            found[f"{level:g}"] = float(seconds[reached[0]])
    return found


def timed_outcome(fit: Fit, points: int, **details: Any) -> Outcome:
    """The outcome of a fit with its clock: `training_seconds`, `start_seconds`, `step_ms`, `reached`, `diverged`."""
    columns = fit.history.to_plain()
    batch = fit.recipe.batch_size(points)
    timed = timed_history(columns["step"], columns["loss"], columns["seconds"], math.ceil(points / batch))
    outcome = outcome_of(
        fit, details={**timed.pop("details"), "diverged": fit.stopped.startswith("diverged"), **details}
    )
    return Outcome(outcome.metrics, thin(timed), outcome.details)


def timed_history(steps: Sequence[int], loss: Sequence[float], seconds: Sequence[float], window: int) -> dict[str, Any]:
    """Columns step, loss (the mean of `window`), seconds of training; and under `details` what the clock says."""
    read = clock(seconds)
    mean_loss = smoothed(loss, window)
    with np.errstate(divide="ignore", invalid="ignore"):
        psnr = -10 * np.log10(mean_loss)
    details: Mapping[str, Any] = {
        "training_seconds": round(float(read.training[-1]), 4) if len(read.training) else 0.0,
        "start_seconds": round(read.start, 4),
        "step_ms": round(1000 * read.step, 4),
        "reached": first_times(read.training, psnr),
    }
    return {
        "step": list(steps),
        "loss": mean_loss.tolist(),
        "seconds": [round(float(value), 5) for value in read.training],
        "details": details,
    }
