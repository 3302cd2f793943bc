"""The figure of a comparison: every reconstruction beside the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from staf.comparison.result_file import NetworkResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from staf.signals import Signal


def comparison_figure(image: Signal, results: Sequence[NetworkResult]) -> Figure:
    """The reconstructions beside the image, or a scene's first view, zoomed, with error maps and curves, in order."""
    from staf.figures import Contender, comparison
    from staf.training import History

    contenders = [
        Contender(result.model, result.reconstruction(), result.metrics["psnr"], History.from_plain(result.history))
        for result in results
    ]
    target = image.view.picture()
    if target is None:
        raise ValueError(f"a {image.view.noun} has no picture to compare")
    low, high = image.value_range
    return comparison(target, contenders, value_range=(float(low), float(high)))
