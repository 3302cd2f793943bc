"""The measures of a fit, as metrics.json has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from staf._documents import Document
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.api import Fit

PROTOCOL = "final weights, one fresh pass over {over}"
OF_PSNR = ", clamped to the value range, peak 1"


def measures(fit: Fit, saved: Path | None) -> Document:
    """The measures of a fit and of its saved reconstruction, JSON-able.

    `psnr_of_file` is the PSNR of the file at `saved`, including rounding to the signal's bit depth. A missing metric is
    null, and `notes` says why. `psnr_of_baseline` is the PSNR of a trivial reconstruction, which `baseline` names.
    """
    notes: dict[str, str] = {}
    about: dict[str, str] = {}
    document: dict[str, float | None] = {name: float(value) for name, value in fit.metrics.items()}
    signal = fit.signal
    if signal is not None:
        more = signal.view.more_measures(fit.field.predict, fit.field.convention, saved)
        document |= {name: _or_note(notes, name, measure) for name, measure in more.items()}
        baseline = _baseline(fit)
        if baseline is not None:
            about["baseline"], document["psnr_of_baseline"] = baseline
    for name, value in list(document.items()):
        if isinstance(value, float) and not math.isfinite(value):
            document[name] = None
            notes[name] = "infinite: equal to the target" if value == math.inf else f"not a number ({value})"
    return {
        **document,
        **about,
        "protocol": PROTOCOL.format(over=measured_over(fit)) + OF_PSNR * ("psnr" in fit.metrics),
        "parameters": sum(parameter.numel() for parameter in fit.module.parameters()),
        "steps": fit.result.steps,
        "seconds": round(fit.result.seconds, 3),
        "stopped": fit.stopped,
        "notes": notes,
    }


def measured_over(fit: Fit) -> str:
    """What the metrics of a fit are measured on, in words."""
    return "all points" if fit.signal is None else fit.signal.view.measured_over


def _baseline(fit: Fit) -> tuple[str, float] | None:
    """What the fit should be better than; None where nothing is to be compared, or the samples are not there."""
    try:
        return fit.signal.view.baseline() if "psnr" in fit.metrics else None  # type: ignore[no-any-return]
    except SignalError:
        return None


def _or_note(notes: dict[str, str], name: str, measure: Callable[[], float]) -> float | None:
    try:
        return measure()
    except (ValueError, OSError) as error:
        notes[name] = f"not measured: {error}"
        return None
