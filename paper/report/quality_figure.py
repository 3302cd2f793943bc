"""Decibels against seconds on a logarithmic axis, drawn from result files alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from paper.report.quality_tables import name_of
from paper.report.training_curves import COLOURS, DASHES, training_psnr
from paper.runner.result import RunResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = ("paper", "released", "released code")
# Where the axis of decibels begins, and that of seconds with the first curve that gets there.
LOWEST = 10.0


def quality_figure(results: Sequence[RunResult]) -> Figure:
    """The first image: training PSNR of each network and recipe, its longest budget as a line.

    Dots are final values of every budget: the clamped PSNR of the final weights. On the left the networks with their
    default plan and STAF's published recipes, on the right plain Adam.
    """
    from matplotlib.figure import Figure

    image = results[0].data_name
    groups: dict[str, list[RunResult]] = defaultdict(list)
    for result in results:
        if result.data_name == image and result.configuration["seed"] == results[0].configuration["seed"]:
            groups[name_of(result)].append(result)
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    networks = list(dict.fromkeys(str(members[0].configuration["model"]) for members in groups.values()))
    starts = []
    for name, members in groups.items():
        network, recipe = (str(members[0].configuration[key]) for key in ("model", "recipe"))
        side = int(recipe == "adam")
        colour = COLOURS[networks.index(network) % len(COLOURS)]
        dash = DASHES[(PUBLISHED.index(recipe) + 1) % len(DASHES) if recipe in PUBLISHED else 0]
        longest = max(members, key=lambda result: int(result.configuration["budget"]))
        seconds = np.asarray(longest.history["seconds"])
        psnr = training_psnr(longest.history["loss"])
        starts += [first for first in seconds[psnr >= LOWEST][:1] if first > 0]
        panels[side].plot(seconds, psnr, color=colour, linestyle=dash, linewidth=1.5, label=name)
        finals = [(float(r.details["training_seconds"]), r.metrics["psnr"]) for r in members]
        finals = [pair for pair in finals if np.isfinite(pair[1])]
        panels[side].scatter(*zip(*finals, strict=True), color=colour, s=18, zorder=3) if finals else None
    titles = ("default plans, and STAF's published recipes", "Adam 1e-3 x 0.05^(t/T), full batches")
    for axes, title in zip(panels, titles, strict=True):
        axes.set(xscale="log", xlabel="seconds of training", title=title)
        axes.set_ylim(bottom=LOWEST)
        if starts:
            axes.set_xlim(left=0.8 * min(starts))
        axes.grid(alpha=0.25, linewidth=0.6, which="both")
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=7.5)
    panels[0].set_ylabel(f"PSNR of {image} (dB)")
    return figure
