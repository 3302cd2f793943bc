"""Parts of a large picture, magnified: the target beside its reconstructions, where these differ most from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from staf.figures.palette import COLOURS
from staf.figures.style import bare, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The longest side of the picture that shows where the patches are.
OVERVIEW = 1200


def worst_places(error: np.ndarray, shape: tuple[int, int], side: int, count: int = 3) -> list[tuple[int, int]]:
    """The top left corners of `count` squares of `side` pixels, far apart, where an error map (h', w') is largest.

    The map may be smaller than the picture of `shape` (h, w); places lie inside the picture.

    >>> error = np.zeros((10, 20)); error[8, 15] = 1.0
    >>> worst_places(error, (100, 200), side=20, count=1)
    [(75, 145)]
    """
    left = np.array(error, dtype=np.float64)
    places = []
    for _ in range(count):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        centre = ((row + 0.5) / left.shape[0] * shape[0], (column + 0.5) / left.shape[1] * shape[1])
        corner = [
            round(min(max(0.0, c - side / 2), max(0, size - side))) for c, size in zip(centre, shape, strict=True)
        ]
        places.append((corner[0], corner[1]))
        # The next one is at least three patches away, where the picture has room for that.
        reach = [max(1, math.ceil(1.5 * side / size * cells)) for size, cells in zip(shape, left.shape, strict=True)]
        left[max(0, row - reach[0]) : row + reach[0] + 1, max(0, column - reach[1]) : column + reach[1] + 1] = -1.0
    return places


def patches_figure(
    target: np.ndarray, reconstructions: Mapping[str, np.ndarray], places: Sequence[tuple[int, int]], side: int = 256
) -> Figure:
    """A picture (h, w, c) of 8 bits with frames around `places`, and a row for each: target and reconstructions.

    Arrays may be memory maps: only what is shown is read. Below each reconstruction is the PSNR of its patch.

    >>> grey = np.full((64, 96, 3), 100, np.uint8)
    >>> len(patches_figure(grey, {"STAF": grey}, [(0, 0), (30, 40)], side=16).axes)
    5
    """
    for name, pixels in reconstructions.items():
        if pixels.shape != target.shape:
            raise ValueError(f"{name} must have the shape of the target, {target.shape}, got {pixels.shape}")
    height, width = target.shape[:2]
    columns = 1 + len(reconstructions)
    wide = 2.1 * columns
    tall = wide * height / width
    figure = new_figure(wide, tall + 2.3 * len(places))
    grid = figure.add_gridspec(1 + len(places), columns, height_ratios=[tall, *[2.2] * len(places)])
    overview = figure.add_subplot(grid[0, :])
    step = max(1, max(height, width) // OVERVIEW)
    overview.imshow(_shown(target[::step, ::step]), extent=(0, width, height, 0))
    bare(overview)
    for number, (top, left) in enumerate(places):
        colour = COLOURS[number % len(COLOURS)]
        overview.plot(
            [left, left + side, left + side, left, left], [top, top, top + side, top + side, top], color=colour
        )
        square = (slice(top, top + side), slice(left, left + side))
        truth = np.array(target[square])
        _patch(figure.add_subplot(grid[1 + number, 0]), truth, "target", colour)
        for column, (name, pixels) in enumerate(reconstructions.items(), start=1):
            seen = np.array(pixels[square])
            _patch(figure.add_subplot(grid[1 + number, column]), seen, f"{name}, {_decibels(truth, seen)}", colour)
    return figure


def _patch(axes: Axes, pixels: np.ndarray, title: str, colour: str) -> None:
    axes.imshow(_shown(pixels), interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_edgecolor(colour)
        spine.set_linewidth(1.8)
    axes.set_xlabel(title, fontsize=8)


def _shown(pixels: np.ndarray) -> np.ndarray:
    grey = pixels.shape[2] < 3
    return np.repeat(pixels[..., :1], 3, axis=2) if grey else pixels[..., :3]


def _decibels(truth: np.ndarray, seen: np.ndarray) -> str:
    peak = float(np.iinfo(truth.dtype).max) if truth.dtype.kind == "u" else 1.0
    error = float(np.square((truth.astype(np.float64) - seen) / peak).mean())
    return "exact" if error == 0 else f"{-10 * math.log10(error):.1f} dB"
