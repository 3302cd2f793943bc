"""Several reconstructions of an image: whole, a detail, their errors, and their training curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from staf.figures.curves import draw_curves
from staf.figures.error_map import ceiling, pixel_error
from staf.figures.palette import ERROR_MAP, line_number
from staf.figures.style import bare, line_style, new_figure
from staf.training import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN_INCHES = 2.3


@dataclass(frozen=True)
class Contender:
    """The result of one network: reconstruction (h, w, c) in the target's own samples, PSNR and history."""

    name: str
    reconstruction: np.ndarray
    psnr: float
    history: History


def comparison(
    target: np.ndarray, contenders: Sequence[Contender], *, value_range: tuple[float, float] = (0.0, 1.0)
) -> Figure:
    """One column for the target and one for each contender, in the given order, with training curves below.

    The rows are the whole image with a box, the content of the box, and the error, with the same scale for all. The box
    is where the target has most detail. `value_range` is that of floating-point samples.

    >>> flat = np.zeros((40, 60, 3), np.uint8)
    >>> history = History([0, 1], [0.1, 0.01], [1.0, 1.0], [0.5, 1.0])
    >>> figure = comparison(flat, [Contender("staf", flat, 40.0, history)])
    >>> len(figure.subfigs)
    2
    """
    if not contenders:
        raise ValueError("contenders must hold at least one outcome, got none")
    for contender in contenders:
        if contender.reconstruction.shape != target.shape:
            raise ValueError(
                f"contender {contender.name!r} must have the target's shape {target.shape}, "
                f"got {contender.reconstruction.shape}"
            )
    peak = None if target.dtype.kind == "u" else value_range[1] - value_range[0]
    errors = [pixel_error(target, contender.reconstruction, peak) for contender in contenders]
    top = max(ceiling(error) for error in errors)
    box = busiest_box(detail(target))
    columns = len(contenders) + 1
    height, width = target.shape[:2]
    aspect = min(2.0, max(0.35, height / width))
    rows_inches = COLUMN_INCHES * (2 * aspect + 1) + 0.6
    curve_inches = 2.8
    figure = new_figure(max(6.4, COLUMN_INCHES * columns), rows_inches + curve_inches)
    parts: Any = figure.subfigures(2, 1, height_ratios=[rows_inches, curve_inches])
    upper, lower = parts
    grid = upper.subplots(3, columns, squeeze=False, height_ratios=[aspect, 1, aspect])
    pictures = [_shown(target, value_range), *(_shown(c.reconstruction, value_range) for c in contenders)]
    titles = ["target", *(f"{c.name}  {c.psnr:.2f} dB" for c in contenders)]
    rows, cols = box
    for column, (picture, title) in enumerate(zip(pictures, titles, strict=True)):
        whole, close = grid[0, column], grid[1, column]
        _show(whole, picture)
        whole.set_title(title, fontsize=10, color="black" if column == 0 else _colour(title, column))
        outline(whole, box)
        _show(close, picture[rows, cols])
    grid[2, 0].set_visible(False)
    shown = None
    for column, error in enumerate(errors, start=1):
        shown = grid[2, column].imshow(error, cmap=ERROR_MAP, vmin=0, vmax=top, interpolation="nearest")
        bare(grid[2, column])
    assert shown is not None
    upper.colorbar(
        shown,
        ax=list(grid[2]),
        location="bottom",
        label="error, share of the range",
        shrink=0.5,
        extend="max",
        pad=0.04,
    )
    by_step, by_time = lower.subplots(1, 2, sharey=True)
    histories = {contender.name: contender.history for contender in contenders}
    draw_curves(by_step, histories, "step")
    draw_curves(by_time, histories, "seconds")
    by_time.set_ylabel("")
    if (legend := by_time.get_legend()) is not None:
        legend.remove()
    return figure


def _colour(title: str, column: int) -> str:
    return str(line_style(line_number(title, column - 1))["color"])


def detail(target: np.ndarray) -> np.ndarray:
    """How much a picture (h, w, c) changes from each pixel to the next, (h, w).

    >>> detail(np.array([[[0.0], [0.0], [3.0]]])).tolist()
    [[0.0, 0.0, 3.0]]
    """
    grey = target.astype(np.float32).mean(-1)
    changes = np.zeros_like(grey)
    changes[1:] += np.abs(np.diff(grey, axis=0))
    changes[:, 1:] += np.abs(np.diff(grey, axis=1))
    return changes


def busiest_box(error: np.ndarray, share: float = 0.25) -> tuple[slice, slice]:
    """Rows and columns of the square, a `share` of the longer side, where the mean of `error` is largest.

    >>> error = np.zeros((40, 80)); error[30, 70] = 1
    >>> rows, columns = busiest_box(error)
    >>> 30 in range(rows.start, rows.stop), 70 in range(columns.start, columns.stop)
    (True, True)
    """
    height, width = error.shape
    side = max(1, round(max(height, width) * share))
    tall, wide = min(side, height), min(side, width)
    total = np.zeros((height + 1, width + 1))
    total[1:, 1:] = np.cumsum(np.cumsum(error, axis=0, dtype=np.float64), axis=1)
    sums = total[tall:, wide:] - total[:-tall, wide:] - total[tall:, :-wide] + total[:-tall, :-wide]
    top, left = np.unravel_index(int(sums.argmax()), sums.shape)
    return slice(int(top), int(top) + tall), slice(int(left), int(left) + wide)


def _shown(image: np.ndarray, value_range: tuple[float, float]) -> np.ndarray:
    """As imshow wants it: (h, w), (h, w, 3) or (h, w, 4) in [0, 1]."""
    low, high = (0.0, float(np.iinfo(image.dtype).max)) if image.dtype.kind == "u" else value_range
    scaled = np.clip((image.astype(np.float32) - low) / (high - low), 0, 1)
    if scaled.shape[2] == 2:
        grey, alpha = scaled[..., :1], scaled[..., 1:]
        return np.concatenate([grey, grey, grey, alpha], axis=-1)
    return scaled[..., 0] if scaled.shape[2] == 1 else scaled


def _show(axes: Axes, picture: np.ndarray) -> None:
    axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    bare(axes)


def outline(axes: Axes, box: tuple[slice, slice]) -> None:
    """A rectangle around rows and columns of a picture, seen on dark and light alike."""
    from matplotlib.patches import Rectangle

    rows, columns = box
    corner = (columns.start - 0.5, rows.start - 0.5)
    width, height = columns.stop - columns.start, rows.stop - rows.start
    for colour, thickness in (("black", 2.4), ("white", 1.2)):
        axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=colour, linewidth=thickness))
