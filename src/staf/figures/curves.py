"""PSNR while training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from staf.figures.palette import line_number
from staf.figures.style import line_style, new_figure, tidy
from staf.training import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {"step": "step", "seconds": "seconds of training"}


def psnr_curve(histories: Mapping[str, History], *, against: Literal["step", "seconds"] = "step") -> Figure:
    """Training PSNR of one or several fits, by name, against the step or the time.

    Each point is the PSNR of a step's batch, before its update. If there are many steps, the line is a running mean,
    over a faint line of all steps.

    >>> history = History([0, 1], [0.1, 0.01], [1.0, 1.0], [0.5, 1.0])
    >>> len(psnr_curve({"staf": history}).axes[0].lines)
    1
    """
    if not histories:
        raise ValueError("histories must name at least one fit, got none")
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    draw_curves(axes, histories, against)
    return figure


def draw_curves(axes: Axes, histories: Mapping[str, History], against: Literal["step", "seconds"]) -> None:
    """The same into axes of your own."""
    if against not in LABELS:
        raise ValueError(f"against must be 'step' or 'seconds', got {against!r}")
    for index, (name, history) in enumerate(histories.items()):
        x = np.asarray(getattr(history, against), float)
        y = np.asarray(history.psnr, float)
        style = line_style(line_number(name, index))
        smooth = running_mean(y, max(1, len(y) // 200))
        if len(y) >= 400:
            axes.plot(x, y, color=style["color"], alpha=0.2, linewidth=0.7)
        axes.plot(x, smooth, label=name, linewidth=1.8, **style)
    tidy(axes, x=LABELS[against], y="PSNR of the step's batch, dB")
    if against == "step":
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(histories) > 1:
        axes.legend(frameon=False, fontsize=9)


def running_mean(values: Sequence[float] | np.ndarray, window: int) -> np.ndarray:
    """The mean of each value and up to `window` - 1 before it; what is not finite is left out.

    >>> running_mean([1.0, 3.0, 5.0], 2).tolist()
    [1.0, 2.0, 4.0]
    """
    array = np.asarray(values, float)
    good = np.isfinite(array)
    sums = np.cumsum(np.where(good, array, 0.0))
    counts = np.cumsum(good)
    ahead = np.concatenate([np.zeros(window), sums])[: len(array)]
    count_ahead = np.concatenate([np.zeros(window), counts])[: len(array)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums - ahead) / (counts - count_ahead)
