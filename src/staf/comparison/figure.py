"""The figure of a comparison: every reconstruction beside the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from staf.comparison.result_file import NetworkResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from staf.kinds import Image


def comparison_figure(image: Image, results: Sequence[NetworkResult]) -> Figure:
    """The reconstructions beside the image, zoomed, with error maps and curves, in the order given."""
    from staf.figures import Contender, comparison
    from staf.training import History

    contenders = [
        Contender(result.model, result.reconstruction(), result.metrics["psnr"], History.from_plain(result.history))
        for result in results
    ]
    low, high = image.value_range
    return comparison(image.array, contenders, value_range=(float(low), float(high)))
