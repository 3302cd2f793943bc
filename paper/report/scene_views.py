"""Held-out views of scenes beside their photos (Figure "NeRF novel view synthesis comparison")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from paper.runner.result import RunResult


def figure(results: Sequence[RunResult]) -> Any:
    """A held-out view of each scene: the photo, and what the first run of each network and protocol shows there.

    Below each is the part where they differ most from the photo, magnified.
    """
    from staf.figures.comparison import outline
    from staf.figures.style import bare, new_figure

    rows: dict[str, dict[str, RunResult]] = {}
    for result in results:
        c = result.configuration
        rows.setdefault(str(c["scene"]), {}).setdefault(f"{c['model']}, {c['protocol']}", result)
    widest = 1 + max(len(row) for row in rows.values())
    drawn = new_figure(2.2 * widest, 4.8 * len(rows))
    grid = drawn.subplots(2 * len(rows), widest, squeeze=False)
    for axes in grid.flat:
        bare(axes)
    for index, (name, row) in enumerate(rows.items()):
        found = {label: result.arrays() for label, result in row.items()}
        photo = next(iter(found.values()))["photo"]
        box = worst_part(photo, [arrays["shown"] for arrays in found.values()])
        titles = [f"{label}\n{result.metrics['psnr']:.2f} dB, all views" for label, result in row.items()]
        pictures = [photo, *(arrays["shown"] for arrays in found.values())]
        for whole, part, title, picture in zip(
            *grid[2 * index : 2 * index + 2], [f"{name}\nphoto", *titles], pictures, strict=False
        ):
            scale = len(picture) / len(photo)
            down, across = (slice(int(side.start * scale), math.ceil(side.stop * scale)) for side in box)
            whole.imshow(picture)
            whole.set_title(title, fontsize=8)
            outline(whole, (down, across))
            part.imshow(picture[down, across], interpolation="nearest")
    return drawn


def worst_part(photo: np.ndarray, shown: Sequence[np.ndarray]) -> tuple[slice, slice]:
    """Rows and columns of a quarter of the photo where views of its size differ most from it."""
    from staf.figures.comparison import busiest_box

    same = [view for view in shown if view.shape == photo.shape]
    return busiest_box(np.mean([np.abs(view.astype(np.float32) - photo).mean(-1) for view in same], 0))
