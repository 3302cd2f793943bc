"""One look for every figure: colours that colour-blind readers can tell apart, and no global state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours; dashes repeat the distinction for those who see none of it.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (8, 2)), "-")
BEFORE, AFTER, INPUTS, INSET = "#D55E00", "#0072B2", "#C9CFD6", "#FFFFFF"
ERROR_MAP = "inferno"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, made without pyplot: no window, no backend, nothing to close.

    >>> new_figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def line_style(index: int) -> dict[str, Any]:
    """Colour and dash of the line number `index`."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def tidy(axes: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Labels, a faint grid, and no box."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def bare(axes: Axes) -> None:
    """No ticks: the axes hold a picture."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
