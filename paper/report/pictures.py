"""Figures of studies on images, drawn from result files alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.report.side_by_side import row_of, values_of
from paper.report.training_curves import training_psnr
from paper.runner.result import RunResult
from paper.study.rows import LABELS, PROTOCOLS
from staf._tables import mean
from staf.figures.style import bare, line_style, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PICTURES = 6


def groups_of(results: Sequence[RunResult]) -> dict[str, dict[str, list[RunResult]]]:
    """Protocol -> row -> results, in the order of the protocols and of the results."""
    found: dict[str, dict[str, list[RunResult]]] = {}
    for protocol in PROTOCOLS:
        rows: dict[str, list[RunResult]] = defaultdict(list)
        for result in results:
            if result.configuration["protocol"] == protocol:
                rows[row_of(result)].append(result)
        if rows:
            found[protocol] = dict(rows)
    return found


def panels(results: Sequence[RunResult], width: float, height: float) -> tuple[Figure, list[tuple[str, Any]]]:
    """A figure with a panel for each protocol that was run."""
    names = list(groups_of(results))
    figure = new_figure(width * len(names), height)
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    return figure, list(zip(names, axes, strict=True))


def iteration_curves(results: Sequence[RunResult]) -> Figure:
    """PSNR while training over iterations, a line for each row: the mean over images and seeds."""
    figure, found = panels(results, 5.2, 4.0)
    for protocol, axes in found:
        for index, (row, members) in enumerate(groups_of(results)[protocol].items()):
            curves = [(np.asarray(r.history["iteration"]), training_psnr(r.history["loss"])) for r in members]
            end = min(x[-1] for x, _ in curves)
            x = np.linspace(min(x[0] for x, _ in curves), end, 300)
            y = np.mean([np.interp(x, *curve) for curve in curves], 0)
            axes.plot(x, y, linewidth=1.5, label=row, **line_style(index))
        tidy(axes, x="iteration", y="PSNR while training (dB)", title=LABELS[protocol])
        axes.legend(frameon=False, fontsize=7)
    return figure


def dots(
    results: Sequence[RunResult], *, published: Mapping[str, Mapping[str, float]] = MappingProxyType({})
) -> Figure:
    """PSNR of the final weights, a dot for each image and a line at the mean of each row.

    `published` has the paper's own means by row and measure, which are drawn as diamonds.
    """
    figure, found = panels(results, 5.2, 1.2 + 0.34 * len({row_of(result) for result in results}))
    for protocol, axes in found:
        rows = groups_of(results)[protocol]
        for place, (_, members) in enumerate(rows.items()):
            values = [value for value in values_of(members, "psnr").values() if math.isfinite(value)]
            axes.scatter(values, [-place] * len(values), s=20, alpha=0.7, linewidths=0, color=line_style(0)["color"])
            if values:
                axes.plot([mean(values)] * 2, [-place - 0.3, -place + 0.3], color="black", linewidth=1.4)
        printed = {place: published[row]["psnr"] for place, row in enumerate(rows) if "psnr" in published.get(row, {})}
        axes.scatter(printed.values(), [-place for place in printed], s=28, marker="D", c="none", edgecolors="black")
        axes.set_yticks([-place for place in range(len(rows))], list(rows))
        words = "PSNR (dB); dots: images, line: mean" + (", diamond: paper" if printed else "")
        tidy(axes, x=words, title=LABELS[protocol])
    return figure


def trade_off(results: Sequence[RunResult]) -> Figure:
    """Distortion and perception: LPIPS against PSNR, a dot for each row. Without LPIPS, SSIM takes its place."""
    measured = "lpips" if any(values_of([result], "lpips") for result in results) else "ssim"
    figure, found = panels(results, 5.2, 4.0)
    for protocol, axes in found:
        for index, (row, members) in enumerate(groups_of(results)[protocol].items()):
            x, y = (mean(list(values_of(members, key).values())) for key in ("psnr", measured))
            axes.scatter([x], [y], s=40, color=line_style(index)["color"], label=row)
            axes.annotate(row, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=8)
        if measured == "lpips" and all(v > 0 for r in results for v in values_of([r], measured).values()):
            axes.set_yscale("log")
        better = "LPIPS (lower is better)" if measured == "lpips" else "SSIM"
        tidy(axes, x="PSNR (dB)", y=better, title=LABELS[protocol])
    return figure


def reconstructions(results: Sequence[RunResult], *, errors: bool = False) -> Figure:
    """The first image as each row fits it, best first, one protocol below the other; below each a detail, enlarged.

    The detail, outlined in the truth, is where the image changes most. With `errors` a row between them has the mean
    error of the channels, in levels of 255, on one scale for each protocol.
    """
    groups = groups_of(results)
    first = {protocol: {row: members[0] for row, members in rows.items()} for protocol, rows in groups.items()}
    best = {
        protocol: sorted(found, key=lambda row: -found[row].metrics["psnr"])[:MOST_PICTURES]
        for protocol, found in first.items()
    }
    columns = 1 + max(len(rows) for rows in best.values())
    truth = next(iter(next(iter(first.values())).values())).arrays()["truth"]
    lines = 3 if errors else 2
    aspect = truth.shape[0] / truth.shape[1]
    heights = [aspect, *([aspect] if errors else []), 1]
    figure = new_figure(2.3 * columns, len(groups) * (2.3 * sum(heights) + 0.7))
    parts = figure.subfigures(len(groups), 1, squeeze=False)[:, 0]
    for part, (protocol, rows) in zip(parts, best.items(), strict=True):
        grid = part.subplots(lines, columns, squeeze=False, height_ratios=heights)
        shown = [first[protocol][row] for row in rows]
        _beside_the_truth(grid, truth, shown, rows)
        if errors:
            _error_maps(part, list(grid[1]), [truth, *(result.arrays()["restored"] for result in shown)])
        part.suptitle(LABELS[protocol], fontsize=10)
    return figure


def _beside_the_truth(grid: Any, truth: np.ndarray, results: Sequence[RunResult], names: Sequence[str]) -> None:
    """The truth and its reconstructions in the first row of `grid`, a detail of each in the last."""
    from staf.figures.comparison import busiest_box, detail, outline

    box = busiest_box(detail(truth))
    pictures = [truth, *(result.arrays()["restored"] for result in results)]
    titles = ["truth", *(f"{n}\n{r.metrics['psnr']:.2f} dB" for n, r in zip(names, results, strict=True))]
    for axes in grid[:, len(pictures) :].flat:
        axes.set_visible(False)
    for whole, close, title, picture in zip(grid[0], grid[-1], titles, pictures, strict=False):
        shown = picture[..., 0] if picture.shape[-1] == 1 else picture
        for axes, part in ((whole, shown), (close, shown[box])):
            axes.imshow(part, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            bare(axes)
        whole.set_title(title, fontsize=9)
    outline(grid[0][0], box)


def _error_maps(figure: Any, places: Sequence[Any], pictures: Sequence[np.ndarray]) -> None:
    """The errors of all pictures but the first, which is the truth, up to the 99th percentile of the worst."""
    truth = pictures[0].astype(np.float32)
    maps = [np.abs(picture - truth).mean(-1) for picture in pictures[1:]]
    top = max(max(float(np.quantile(error, 0.99)) for error in maps), 1.0)
    places[0].set_visible(False)
    for axes, error in zip(places[1:], maps, strict=False):
        drawn = axes.imshow(error, cmap="magma", vmin=0, vmax=top, interpolation="nearest")
        bare(axes)
    figure.colorbar(drawn, ax=list(places[1:]), label="error, levels of 255").ax.tick_params(labelsize=7)
