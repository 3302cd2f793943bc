"""Restored images side by side: the truth, what was observed, and what each method made of it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from staf.figures.comparison import busiest_box, outline
from staf.figures.style import bare, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN_INCHES = 2.3
TITLE_LETTERS = 34  # in a line as wide as a column


def restoration_comparison(
    truth: np.ndarray, observed: np.ndarray, restored: Mapping[str, np.ndarray], box: tuple[slice, slice] | None = None
) -> Figure:
    """Columns for the truth, the observation and each method, (h, w, c) in [0, 1]; below, what is in the box.

    A coarse observation is shown by its own pixels, enlarged; one on another grid (a sinogram) by itself, from its
    least to its greatest value. Names become titles, so a metric is shown by putting it
    there. `box` is (rows, columns) of the truth; by default where the methods' mean error is largest.

    >>> picture = np.zeros((40, 60, 3))
    >>> len(restoration_comparison(picture, picture[::4, ::4], {"bicubic  30.0 dB": picture}).axes)
    6
    """
    if not restored:
        raise ValueError("restored must name at least one picture, got none")
    for name, picture in restored.items():
        if picture.shape != truth.shape:
            raise ValueError(f"restored {name!r} must have the truth's shape {truth.shape}, got {picture.shape}")
    factor = max(1, truth.shape[0] // observed.shape[0])
    enlarged = observed.repeat(factor, 0).repeat(factor, 1)
    elsewhere = enlarged.shape != truth.shape
    if elsewhere:
        enlarged = (observed - observed.min()) / max(float(observed.max() - observed.min()), 1e-12)
    if box is None:
        errors = [np.sqrt(np.square(picture - truth).mean(-1)) for picture in restored.values()]
        box = busiest_box(np.mean(errors, axis=0))
    pictures = {"truth": truth, "observed": enlarged, **restored}
    aspect = min(2.0, max(0.35, truth.shape[0] / truth.shape[1]))
    lines = max(len(textwrap.wrap(name, TITLE_LETTERS)) for name in pictures)
    figure = new_figure(COLUMN_INCHES * len(pictures), COLUMN_INCHES * (aspect + 1) + 0.25 + 0.15 * lines)
    grid = figure.subplots(2, len(pictures), squeeze=False, height_ratios=[aspect, 1])
    rows, columns = box
    for column, (name, picture) in enumerate(pictures.items()):
        alone = elsewhere and name == "observed"
        parts = (picture,) if alone else (picture, picture[rows, columns])
        grid[1, column].set_visible(not alone)
        for axes, part in zip(grid[:, column], parts, strict=False):
            shown = np.clip(part, 0, 1)
            axes.imshow(shown[..., 0] if shown.shape[2] < 3 else shown, cmap="gray", vmin=0, vmax=1)
            bare(axes)
        grid[0, column].set_title(textwrap.fill(name, TITLE_LETTERS), fontsize=9)
        if not alone:
            outline(grid[0, column], box)
    return figure
