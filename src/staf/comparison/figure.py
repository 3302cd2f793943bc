"""The figure of a comparison: every reconstruction beside the target."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from staf.comparison.result_file import NetworkResult
from staf.comparison.table import measure_in_words
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from staf.signals import Signal


def comparison_figure(image: Signal, results: Sequence[NetworkResult]) -> Figure | None:
    """The reconstructions beside the image, or a scene's first view, zoomed, with error maps and curves, in order.

    A recording or a shape is drawn as its kind draws it, less the networks that have no surface; None without any.
    """
    from staf.api import load
    from staf.figures import Contender, comparison
    from staf.training import History

    target = image.view.picture()
    if target is None:
        rendered = {}
        for result in results:
            with contextlib.suppress(SignalError):
                title = f"{result.model}  {measure_in_words(result.metrics, image.view.main_measure)}"
                rendered[title] = load(result.field_path).render()
        return image.view.comparison(rendered) if rendered else None
    contenders = [
        Contender(result.model, result.reconstruction(), result.metrics["psnr"], History.from_plain(result.history))
        for result in results
    ]
    low, high = image.value_range
    return comparison(target, contenders, value_range=(float(low), float(high)))
