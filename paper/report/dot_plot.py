"""A dot plot: one row of dots for each name, every value shown, its mean as a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR, MARKED = "#0072B2", "#D55E00"


def dot_figure(
    values: Mapping[str, Sequence[float]],
    *,
    marked: Mapping[str, Sequence[bool]],
    meaning: tuple[str, str],
    label: str,
) -> Figure:
    """Dots of each name from the bottom up, with its mean as a line; `marked` ones are rings.

    `meaning` says in words what a dot and what a ring is.

    >>> rows = {"siren": [30.0, 31.0], "staf": [35.0, 36.0]}
    >>> len(dot_figure(rows, marked={}, meaning=("an image", "tuned on"), label="dB").axes)
    1
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 1.2 + 0.34 * len(values)), layout="constrained")
    axes = figure.subplots()
    dots, rings = ([], []), ([], [])  # type: ignore[var-annotated]
    for row, (name, entries) in enumerate(values.items()):
        finite = [value for value in entries if np.isfinite(value)]
        flags = list(marked.get(name, [False] * len(entries)))
        for value, flag in zip(entries, flags, strict=True):
            if np.isfinite(value):
                kept = rings if flag else dots
                kept[0].append(value)
                kept[1].append(row)
        if finite:
            axes.plot([np.mean(finite)] * 2, [row - 0.32, row + 0.32], color="black", linewidth=1.4)
    axes.scatter(*dots, s=22, color=COLOUR, alpha=0.75, linewidths=0, label=meaning[0])
    if rings[0]:
        axes.scatter(*rings, s=30, facecolors="none", edgecolors=MARKED, linewidths=1.4, label=meaning[1])
    axes.plot([], [], color="black", linewidth=1.4, label="mean")
    axes.set_yticks(range(len(values)), list(values))
    axes.set_ylim(-0.7, len(values) - 0.3)
    axes.set_xlabel(label)
    axes.grid(axis="x", alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    return figure
