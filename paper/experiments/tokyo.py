"""A panorama of 6144x2324 by an Instant-NGP network whose activation is changed (Figures "Tokyo", "Tokyo patches")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.report.pictures import groups_of, reconstructions
from paper.runner.result import RunResult
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACTIVATIONS = ("staf", "finer", "siren", "relu")
# Instant-NGP's for images: the finest cells are half the panorama's longest side.
GRID: dict[str, Any] = {"levels": 16, "features": 2, "log2_entries": 19, "coarsest": 16, "finest": 3072}
PATCH = 256


def whole(results: Sequence[RunResult]) -> Figure:
    """The whole picture by each activation, with its error map."""
    return reconstructions(results, errors=True)


def patches(results: Sequence[RunResult]) -> Figure:
    """The picture, and parts of it where the networks differ most from it on average, magnified."""
    from staf.figures.patches import patches_figure, worst_places

    rows = next(iter(groups_of(results).values()))
    first = {row: members[0].arrays() for row, members in rows.items()}
    target = next(iter(first.values()))["truth"]
    shown = {row: arrays["restored"] for row, arrays in first.items()}
    error = np.mean([np.abs(picture.astype(np.float32) - target).mean(-1) for picture in shown.values()], 0)
    # Three patches have room apart from each other.
    side = max(1, min(PATCH, min(target.shape[:2]) // 8))
    # Single pixels decide nothing: blocks of 16.
    cell = min(16, side)
    height, width = (size // cell for size in error.shape)
    blocks = error[: height * cell, : width * cell].reshape(height, cell, width, cell).mean((1, 3))
    return patches_figure(target, shown, worst_places(blocks, (target.shape[0], target.shape[1]), side), side)


STUDY = ImageStudy(
    "tokyo",
    "A panorama by hash grids of 2^19 entries with STAF, FINER, SIREN or ReLU behind them; paper: STAF is the sharpest",
    tuple(Row(name, "ngp", {**GRID, "activation": name}) for name in ACTIVATIONS),
    # The paper does not say how long its fits are.
    Length(3000),
    protocols=("ours",),
    figures={"tokyo": whole, "tokyo-patches": patches},
    needs="the panorama of Shibuya (6144x2324), or any large photo",
    time="4 rows: 1 min on an H200",
).study()
