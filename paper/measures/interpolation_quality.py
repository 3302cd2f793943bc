"""How well a fitted image interpolates between its pixels, which no measure at the pixels shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from staf._tables import mean

if TYPE_CHECKING:
    from paper.runner.result import RunResult
    from staf.api import Fit


def interpolation_quality(fit: Fit) -> dict[str, float]:
    """`interpolation_psnr`: the field rendered at twice the size against the bicubic enlargement of the image.

    Bicubic is not the truth: a good field differs from it at edges, and has about 35 dB on photographs. A field that is
    noise between its pixels is below 25 dB, however well it fits them. Signals other than images have no such measure.

    >>> from types import SimpleNamespace
    >>> interpolation_quality(SimpleNamespace(task=SimpleNamespace(signal=None)))
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
    # The observation of a large image is a smaller one.
    pixels = task.batch(None).target.T.reshape(-1, height, width).to(device)
    enlarged = bicubic(pixels, 2).permute(1, 2, 0).clamp(0, 1)
    # The enlargement has its samples at the centres of cells, whatever the fit's own were.
    points = coordinates((2 * height, 2 * width)).to(device)
    if task.convention == "ends":
        points = points * points.new_tensor([n / max(n - 1, 1) for n in (height, width)])
    rendered = predictor(fit.module, 2**18)(points).reshape(enlarged.shape).clamp(0, 1)
    error = float((rendered - enlarged).double().square().mean())
    return {"interpolation_psnr": -10 * math.log10(error) if error else math.inf}


def mean_interpolation(results: Sequence[RunResult]) -> float:
    """The mean `interpolation_psnr` of the results that have one; NaN if none has."""
    return mean([result.metrics["interpolation_psnr"] for result in results if "interpolation_psnr" in result.metrics])
