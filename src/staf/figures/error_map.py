"""Error maps of reconstructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from staf.figures.palette import ERROR_MAP
from staf.figures.style import bare, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pixel_error(target: np.ndarray, reconstruction: np.ndarray, peak: float | None = None) -> np.ndarray:
    """Root mean square over the channels of (h, w, c), as a share of `peak` (of integers: their largest value).

    >>> pixel_error(np.zeros((1, 1, 3), np.uint8), np.full((1, 1, 3), 51, np.uint8)).tolist()
    [[0.20000000298023224]]
    """
    if target.shape != reconstruction.shape or target.ndim != 3:
        raise ValueError(
            "target and reconstruction must have the same shape (h, w, c), "
            f"got {target.shape} and {reconstruction.shape}"
        )
    if peak is None:
        peak = float(np.iinfo(target.dtype).max) if target.dtype.kind == "u" else 1.0
    difference = (reconstruction.astype(np.float32) - target.astype(np.float32)) / np.float32(peak)
    return np.sqrt(np.square(difference).mean(-1))


def error_map(target: np.ndarray, reconstruction: np.ndarray, *, peak: float | None = None) -> Figure:
    """The error of each pixel with its scale beside it, linear from zero to the 99.9th percentile.

    >>> figure = error_map(np.zeros((8, 8, 1)), np.ones((8, 8, 1)))
    >>> len(figure.axes)
    2
    """
    error = pixel_error(target, reconstruction, peak)
    height, width = error.shape
    figure = new_figure(5.6, min(12.0, max(1.6, 4.6 * height / width)))
    axes = figure.subplots()
    shown = axes.imshow(error, cmap=ERROR_MAP, vmin=0, vmax=ceiling(error), interpolation="nearest")
    bare(axes)
    figure.colorbar(shown, ax=axes, label="error, share of the range", fraction=0.05, extend="max")
    return figure


def ceiling(error: np.ndarray) -> float:
    """The top of the scale: the 99.9th percentile, so that one bad pixel does not darken the rest; never zero."""
    return max(float(np.quantile(error, 0.999)), 1 / 65535)
