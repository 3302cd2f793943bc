"""Restored images: the arrays that results share, a table by image, and the best of each network beside the truth."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paper.report.output import save_figure, write_tables
from paper.report.rows import protocol_name, row_name
from paper.runner.result import RunResult
from staf._tables import Table, mean, number

MOST_COLUMNS = 8


def restored_arrays(task: Any) -> dict[str, np.ndarray]:
    """The truth (h, w, c) and the observation of a task for figures: `eight_bits`."""
    truth = task.transform.fitted(task.truth.values()).reshape(*task.truth.shape, -1)
    observed = task.observation.cpu().movedim(0, -1)
    return {"truth": eight_bits(truth.numpy()), "observed": eight_bits(observed.numpy())}


def image_table(
    title: str, results: Sequence[RunResult], published: Mapping[str, Mapping[str, float]], by: str = "psnr"
) -> Table:
    """A row for each network and protocol: PSNR on each image, then means over the images, best mean of `by` first.

    A row that lacks an image has no means, because they would be of other images than those of the other rows, and
    comes last. Seeds are averaged. `published` has the paper's own numbers, on images of its own.
    """
    images = list(dict.fromkeys(result.data_name for result in results))
    groups: dict[tuple[str, str], dict[str, list[RunResult]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        key = row_name(result.configuration), protocol_name(result)
        groups[key][result.data_name].append(result)

    def on(row: Mapping[str, Sequence[RunResult]], image: str, metric: str) -> float:
        return mean([result.metrics.get(metric, math.nan) for result in row.get(image, ())])

    def over(row: Mapping[str, Sequence[RunResult]], metric: str) -> float:
        return mean([on(row, image, metric) for image in images])

    ranked = sorted(groups.items(), key=lambda item: (math.isnan(over(item[1], by)), -over(item[1], by)))
    rows = []
    for (model, protocol), row in ranked:
        theirs = published.get(model, {})
        cells = [model, protocol, *(number(on(row, image, "psnr")) for image in images)]
        cells += [number(over(row, "psnr")), number(over(row, "ssim"), 4), number(over(row, "oracle_psnr"))]
        cells += [number(theirs.get("psnr", theirs.get("oracle_psnr", math.nan)))]
        rows.append([*cells, str(sum(len(runs) for runs in row.values()))])
    means = ["mean", "SSIM", "best step in hindsight", "paper's, other images"]
    return Table(title, ["network", "protocol", *images, *means, "runs"], rows)


def eight_bits(picture: np.ndarray) -> np.ndarray:
    """Values in [0, 1] as a picture shows them, clamped, an eighth of their size in a file.

    >>> eight_bits(np.array([-0.1, 0.5, 1.0]))
    array([  0, 128, 255], dtype=uint8)
    """
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def draw_restored(name: str, table: Table, results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table, and a figure of one run of each row on the first image, in the table's order."""
    written = write_tables(name, results, [table], folder)
    first = results[0].data_name
    runs: dict[tuple[str, str], RunResult] = {}
    for result in results:
        key = row_name(result.configuration), protocol_name(result)
        if result.data_name == first:
            runs.setdefault(key, result)
    order = [(row[0], row[1]) for row in table.rows if (row[0], row[1]) in runs][:MOST_COLUMNS]

    from staf.figures.restoration import restoration_comparison

    arrays = {key: runs[key].arrays() for key in order}
    titles = {
        f"{', '.join(part for part in key if part != '-')}\n{runs[key].metrics['psnr']:.2f} dB": found["restored"] / 255
        for key, found in arrays.items()
    }
    seen = arrays[order[0]]
    figure = restoration_comparison(seen["truth"] / 255, seen["observed"] / 255, titles)
    return [written, save_figure(figure, folder / f"{name}.png", dpi=110)]
