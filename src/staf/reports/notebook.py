"""What a notebook shows for a Fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from staf.reports.text import duration, number, text
from staf.signals import SignalError

if TYPE_CHECKING:
    from staf.api import Fit


def notebook_html(fit: Fit) -> str:
    """One line of measures, and below it what the kind of signal shows. No script, nothing fetched."""
    measures = ", ".join(
        f"<b>{number(value, 2)} dB</b>" if name == "psnr" else f"{text(name.upper())} {number(value, 4)}"
        for name, value in fit.metrics.items()
    )
    title = text(fit.signal.name if fit.signal is not None else "fit")
    line = (
        f"<div><bdi>{title}</bdi>: {measures}, {fit.result.steps:,} steps in {text(duration(fit.result.seconds))}</div>"
    )
    if fit.signal is None:
        return line
    try:
        figures = fit.signal.view.notebook_figures(fit.reconstruction)
    except SignalError:
        return line
    return f"<div>{line}{figures}</div>" if figures else line
