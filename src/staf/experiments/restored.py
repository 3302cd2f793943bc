"""Restored images of results: what they share, and how they are drawn, the best of each network beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from staf._files import atomic_write
from staf.experiments.result import Result
from staf.experiments.runner import draw as draw_file
from staf.experiments.tables import Table

MOST_COLUMNS = 8


def restored_arrays(task: Any) -> dict[str, np.ndarray]:
    """The truth (h, w, c) and the observation of a task for figures: `eight_bits`."""
    truth = task.transform.fitted(task.truth.values()).reshape(*task.truth.shape, -1)
    observed = task.observation.cpu().movedim(0, -1)
    return {"truth": eight_bits(truth.numpy()), "observed": eight_bits(observed.numpy())}


def eight_bits(picture: np.ndarray) -> np.ndarray:
    """Values in [0, 1] as a picture shows them, clamped, an eighth of their size in a file.

    >>> eight_bits(np.array([-0.1, 0.5, 1.0]))
    array([  0, 128, 255], dtype=uint8)
    """
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def draw_restored(name: str, table: Table, results: Sequence[Result], folder: Path) -> list[Path]:
    """The table, and a figure of one run of each row on the first image, in the table's order."""
    if not results:
        raise ValueError("there are no finished results to draw")
    atomic_write(folder / f"{name}.md", table.to_markdown())
    first = results[0].data_name
    runs: dict[tuple[str, str], Result] = {}
    for result in results:
        key = str(result.configuration["model"]), str(result.configuration["protocol"])
        if result.data_name == first:
            runs.setdefault(key, result)
    order = [(row[0], row[1]) for row in table.rows if (row[0], row[1]) in runs][:MOST_COLUMNS]

    def write(path: Path) -> None:
        from staf.figures.restoration import restoration_comparison

        arrays = {key: runs[key].arrays() for key in order}
        titles = {
            f"{model}, {protocol}\n{runs[model, protocol].metrics['psnr']:.2f} dB": found["restored"] / 255
            for (model, protocol), found in arrays.items()
        }
        seen = arrays[order[0]]
        restoration_comparison(seen["truth"] / 255, seen["observed"] / 255, titles).savefig(path, dpi=110)

    return [folder / f"{name}.md", draw_file(folder / f"{name}.png", write)]
