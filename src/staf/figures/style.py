"""The look of every figure: no box, a faint grid, and no global state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from staf._documents import Document
from staf._extras import need
from staf.figures.palette import COLOURS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of the figures of theory and analysis.
DPI = 110


def new_figure(width: float, height: float, dpi: float | None = None) -> Figure:
    """An empty figure in inches, made without pyplot: no window, no backend, nothing to close.

    `dpi` is the resolution at which it is saved unless asked otherwise; matplotlib's own by default.

    >>> new_figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    need("plot", "matplotlib")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=dpi)


def line_style(index: int) -> Document:
    """Colour and dash of the line number `index`; after the seven colours come the same with other dashes."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[(index + index // len(COLOURS)) % len(DASHES)],
    }


def tidy(axes: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Labels, a faint grid, and no box."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def label_axes(axes: Axes, x: str, y: str, title: str) -> None:
    """Labels, a full grid behind the data and a centred title, for figures of theory and analysis."""
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, fontsize=10)
    axes.grid(True, color="0.9", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def bare(axes: Axes) -> None:
    """No ticks: the axes hold a picture."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
