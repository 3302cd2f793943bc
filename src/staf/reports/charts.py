"""The report's charts: the PSNR of every step, and each activation before and after."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from staf.figures.activations import ActivationCurves
from staf.reports.svg import Chart, padded

BINS = 240


def binned(
    values: Sequence[float] | np.ndarray, bins: int = BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """At most `bins` groups of consecutive values: the middle index, the lowest, the mean and the highest of each.

    >>> middle, low, mean, high = binned([1.0, 3.0, 5.0, 9.0], bins=2)
    >>> middle.tolist(), low.tolist(), mean.tolist(), high.tolist()
    ([0.5, 2.5], [1.0, 5.0], [2.0, 7.0], [3.0, 9.0])
    """
    array = np.asarray(values, np.float64)
    groups = np.array_split(np.arange(len(array)), min(bins, max(1, len(array))))
    groups = [group for group in groups if len(group)]
    middle = np.array([group.mean() for group in groups])
    low, mean, high = (np.array([how(array[group]) for group in groups]) for how in (np.min, np.mean, np.max))
    return middle, low, mean, high


def psnr_chart(psnr: Sequence[float], final: float | None, over: str = "all points") -> str:
    """Training PSNR (of each step's batch, before its update) against the step, and the final one, of `over`, a dot.

    Without a final PSNR the loss is no squared error of values, and the axis says so.
    """
    if not psnr:
        return ""
    middle, low, mean, high = binned(psnr)
    last = float(len(psnr))
    shown = [low, high] if final is None or not math.isfinite(final) else [low, high, np.array([final])]
    y_low, y_high = padded(np.concatenate(shown))
    what, label = ("loss", "-10 log10(loss)") if final is None else ("PSNR", "PSNR, dB")
    chart = Chart(520, 300, (0.0, max(last, 1.0)), (y_low, y_high), "step", label, f"{what} of each step", top=26)
    chart.band(middle, low, high, "after")
    chart.line(middle, mean, "after")
    if final is not None and math.isfinite(final):
        chart.dot(last, final, f"{final:.2f} dB, {over}", "final")
    return chart.render()


def activation_chart(curve: ActivationCurves) -> str:
    """rho(x) before and after training, over the histogram of the inputs that the layer meets."""
    reach = float(curve.x[-1])
    rows = [curve.after] if curve.before is None else [curve.after, curve.before]
    y_low, y_high = padded(np.concatenate([row.ravel() for row in rows]), 0.1)
    label = f"{curve.name}: the activation before and after training"
    chart = Chart(
        300, 200, (-reach, reach), (y_low, y_high), "input x", "", label, left=38, bottom=36, top=8, right=8, ticks=4
    )
    peak = float(curve.density.max()) or 1.0
    tops = y_low + curve.density / peak * 0.45 * (y_high - y_low)
    steps_x = np.repeat(curve.edges, 2)[1:-1]
    steps_y = np.repeat(tops, 2)
    chart.band(steps_x, np.full_like(steps_x, y_low), steps_y, "inputs")
    if curve.before is not None and curve.trained:
        for row in curve.before:
            chart.line(curve.x, row, "before")
    for row in curve.after:
        chart.line(curve.x, row, "after")
    return chart.render()
