"""What a notebook shows for a Fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from staf.reports.pictures import pictures
from staf.reports.text import duration, number, text
from staf.signals import SignalError

if TYPE_CHECKING:
    from staf.api import Fit


def notebook_html(fit: Fit) -> str:
    """Target, reconstruction and error beside each other, under one line of measures. No script, nothing fetched."""
    measures = ", ".join(
        f"<b>{number(value, 2)} dB</b>" if name == "psnr" else f"{text(name.upper())} {number(value, 4)}"
        for name, value in fit.metrics.items()
    )
    title = text(fit.signal.name if fit.signal is not None else "fit")
    line = (
        f"<div><bdi>{title}</bdi>: {measures}, {fit.result.steps:,} steps in {text(duration(fit.result.seconds))}</div>"
    )
    if fit.signal is None or fit.signal.kind != "image" or fit.reconstruction.shape != fit.signal.shape:
        return line
    try:
        seen = pictures(fit.signal, fit.reconstruction)
    except SignalError:
        return line
    whole = seen.views[0]
    figures = "".join(
        '<figure style="margin:0;width:256px;flex:0 1 256px;min-width:0">'
        f'<img src="{source}" alt="{name}" style="display:block;width:100%;image-rendering:pixelated"><figcaption>'
        f"{name}</figcaption></figure>"
        for name, source in (
            ("target", whole.target),
            ("reconstruction", whole.reconstruction),
            (f"error, 0 to {seen.ceiling:.2g}", whole.error),
        )
    )
    return f'<div>{line}<div style="display:flex;gap:12px;margin-top:8px">{figures}</div></div>'
