"""What a fit is worth in numbers: metrics.json."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from staf.kinds import open as open_signal
from staf.metrics import lpips, psnr
from staf.metrics.lpips import load_lpips

if TYPE_CHECKING:
    from staf.api import Fit

PROTOCOL = "final weights, one fresh pass over all points, clamped to the value range, peak 1"
LPIPS_PIXELS = 2**24


def measures(fit: Fit, saved: Path | None) -> dict[str, Any]:
    """The measures of a fit and of its saved reconstruction, JSON-able.

    `psnr_of_file` is that of the file at `saved`, read back: rounding to the signal's bit depth included. A measure
    that has no number is null, and `notes` says why in words.
    """
    notes: dict[str, str] = {}
    document: dict[str, Any] = {name: float(value) for name, value in fit.metrics.items()}
    signal = fit.signal
    if signal is not None and signal.kind == "image":
        document["lpips"] = _or_note(notes, "lpips", lambda: _lpips(fit))
        if saved is not None:
            document["psnr_of_file"] = _or_note(notes, "psnr_of_file", lambda: _file_psnr(fit, saved))
    for name, value in list(document.items()):
        if isinstance(value, float) and not math.isfinite(value):
            document[name] = None
            notes[name] = "infinite: equal to the target" if value == math.inf else f"not a number ({value})"
    return {
        **document,
        "protocol": PROTOCOL,
        "parameters": sum(parameter.numel() for parameter in fit.module.parameters()),
        "steps": fit.result.steps,
        "seconds": round(fit.result.seconds, 3),
        "stopped": fit.stopped,
        "notes": notes,
    }


def float_prediction(fit: Fit) -> Tensor:
    """The field at every sample of an image, (h, w, c), in the signal's units and not rounded."""
    coordinates = fit.signal.coordinates(fit.field.convention)
    low, high = fit.signal.value_range
    values = fit.field.predict(coordinates).clamp(low, high)
    return values.float().cpu().reshape(*fit.signal.shape, -1)


def _file_psnr(fit: Fit, saved: Path) -> float:
    image = open_signal(saved)
    if image.shape != fit.signal.shape:
        raise ValueError(f"the saved image is {image.width}x{image.height}, another size than the target's")
    return float(psnr(image.values(), fit.signal.values(), data_range=fit.signal.value_range))


def _lpips(fit: Fit) -> float:
    height, width = fit.signal.shape
    if fit.signal.out_features not in (1, 3):
        raise ValueError("LPIPS is defined for grey and RGB, and this image has alpha")
    if height * width > LPIPS_PIXELS:
        raise ValueError(f"not measured above {LPIPS_PIXELS // 10**6} megapixels")
    # The weights first: without them there is no use in a pass over all points, which takes minutes for a large photo.
    model = load_lpips()
    target = fit.signal.values().reshape(height, width, -1)
    with torch.no_grad():
        return float(lpips(float_prediction(fit), target, data_range=fit.signal.value_range, model=model))


def _or_note(notes: dict[str, str], name: str, measure: Any) -> float | None:
    try:
        return measure()
    except (ValueError, OSError) as error:
        notes[name] = f"not measured: {error}"
        return None
