"""PSNR while training, of several runs of each contender, drawn from histories alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can tell apart; dashes repeat the distinction.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (8, 2)), "-")


def curves_figure(histories: Mapping[str, Sequence[Mapping[str, Sequence[float]]]]) -> Figure:
    """Training PSNR against steps and against seconds: a line for each contender, faint ones for its single runs.

    `histories` maps a name to its runs, each with columns step, seconds and loss; losses are of values in [0, 1].

    >>> run = {"step": [0, 1], "seconds": [0.1, 0.2], "loss": [0.1, 0.01]}
    >>> len(curves_figure({"staf": [run, run]}).axes)
    2
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    by_step, by_time = figure.subplots(1, 2, sharey=True)
    for index, (name, runs) in enumerate(histories.items()):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        for axes, against in ((by_step, "step"), (by_time, "seconds")):
            lines = [(np.asarray(run[against], float), training_psnr(run["loss"])) for run in runs]
            if len(lines) == 1:
                x, middle = lines[0]
            else:
                for x, y in lines:
                    axes.plot(x, y, color=colour, alpha=0.3, linewidth=0.8)
                # The mean is drawn as far as every run goes.
                x = np.linspace(0, min(x[-1] for x, _ in lines), 200)
                middle = np.mean([np.interp(x, *line) for line in lines], axis=0)
            axes.plot(x, middle, color=colour, linestyle=dash, linewidth=1.8, label=name)
    by_step.set(xlabel="step", ylabel="PSNR of the step's batch (dB)")
    by_time.set(xlabel="seconds of training")
    by_step.legend(frameon=False)
    for axes in (by_step, by_time):
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def training_psnr(loss: Sequence[float]) -> np.ndarray:
    """-10 log10 of each loss; NaN where it is not a number.

    >>> training_psnr([0.01, math.inf]).tolist()
    [20.0, nan]
    """
    return np.array([-10 * math.log10(max(v, 1e-20)) if math.isfinite(v) else math.nan for v in loss])
