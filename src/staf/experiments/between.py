"""What a fitted picture is between its pixels, which no measure on the pixels sees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from staf.api import Fit


def between_pixels(fit: Fit) -> dict[str, float]:
    """PSNR of the field rendered at twice the size against the bicubic enlargement of the picture, as `between`.

    Bicubic is no truth: a good field differs from it at edges, by some 35 dB on photographs. A field that is noise
    between its pixels is below 25 dB, however well it fits them. Nothing for signals that are no pictures.

    >>> from types import SimpleNamespace
    >>> between_pixels(SimpleNamespace(task=SimpleNamespace(signal=None)))
    {}
    """
    task: Any = fit.task
    signal: Any = getattr(task, "signal", None)
    if getattr(signal, "kind", None) != "image":
        return {}
    from staf.signals.grid import coordinates
    from staf.tasks.classical import bicubic
    from staf.training import predictor

    device = next(fit.module.parameters()).device
    height, width = signal.shape
    enlarged = bicubic(task.observation.to(device), 2).permute(1, 2, 0).clamp(0, 1)
    # The enlargement has its samples at the centres of cells, whatever the fit's own were.
    points = coordinates((2 * height, 2 * width)).to(device)
    if task.convention == "ends":
        points = points * points.new_tensor([n / max(n - 1, 1) for n in (height, width)])
    rendered = predictor(fit.module, 2**18)(points).reshape(enlarged.shape).clamp(0, 1)
    error = float((rendered - enlarged).double().square().mean())
    return {"between": -10 * math.log10(error) if error else math.inf}
