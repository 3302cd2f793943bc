"""The tables and the figure of the comparison, from result files alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.runner.result import RunResult
from paper.sines.arms import ARMS
from paper.sines.code_arms import CODE_ARMS
from paper.sines.omega0_tables import mean_and_error, omega0_tables
from paper.sines.parts import OMEGA0, PARTS
from staf._tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FROZEN = "frozen sine"
# The rate at which all arms are stable, of the tables that have one rate alone.
SAME_RATE = 2e-3
# The rate of runs of codes that were kept before their rate was.
FIRST_META_RATE = 1e-3
# Panels of a line of the figure.
ACROSS = 3
TITLES = {name: part.title for name, part in PARTS.items()}


def tables(results: Sequence[RunResult]) -> list[Table]:
    """A table for each part that was run."""
    found = [_part(part, [r for r in results if _part_of(r) == part]) for part in TITLES]
    found += [_omega0(results), *omega0_tables(results).values(), _quantised(results), _codes(results)]
    return [table for table in found if table.rows]


def page_tables(results: Sequence[RunResult]) -> dict[str, Table]:
    """The tables of the page by name: for each part one for all rates, and those of the other questions.

    An empty table stands for what was not run.
    """
    small = _smaller(results)
    found, large = {}, [result for result in results if result not in small and not _searched_omega0(result)]
    for part in TITLES:
        runs = [result for result in large if _part_of(result) == part]
        rates = sorted({float(result.details["rate"]) for result in runs})
        tables = [_part(part, [r for r in runs if float(r.details["rate"]) == rate]) for rate in rates]
        columns = tables[0].columns if tables else []
        found[f"sines-{part.replace(' ', '-')}"] = Table(TITLES[part], columns, [r for t in tables for r in t.rows])
    same = [result for result in large if result.details.get("rate") == SAME_RATE]
    found |= {"sines-omega0": _omega0(same), "sines-quantised": _quantised(same), "sines-codes": _codes(results)}
    found |= {"sines-small": _small(small), "sines-bytes": _bytes(small)}
    found |= omega0_tables([result for result in results if _searched_omega0(result)])
    # Several fits shared the machine, so that times of steps say nothing.
    return {name: _without(table, "ms a step") for name, table in found.items()}


def _searched_omega0(result: RunResult) -> bool:
    """Whether a run is of the study of omega0 in which each arm searched its rate."""
    return _part_of(result) in OMEGA0 and bool(result.details["search"])


def _smaller(results: Sequence[RunResult]) -> list[RunResult]:
    """Runs of a part on smaller signals than its others have."""
    parts = [result for result in results if _part_of(result) in TITLES]
    largest = {part: max((_size(r) for r in parts if _part_of(r) == part), default=0.0) for part in TITLES}
    return [result for result in parts if _size(result) < largest[_part_of(result)]]


def _small(results: Sequence[RunResult]) -> Table:
    """A row for each arm of each part, each at the rate that it searched; widths of one number of bytes are apart."""
    own = [result for result in results if "quantised" not in result.details]
    tables = [_without(_part(part, [r for r in own if _part_of(r) == part]), "ms a step") for part in TITLES]
    rows = [[table.title.split(":")[0], *row] for table in tables for row in table.rows]
    return Table("Smaller signals", ["signals", *tables[0].columns], rows)


def _bytes(results: Sequence[RunResult]) -> Table:
    """Arms of several widths with rounded matrices: PSNR after the steps of the rest, and bytes, fewest first."""
    runs = [result for result in results if "quantised" in result.details]
    bits = list(runs[0].details["quantised"]) if runs else []
    rows = []
    for result in sorted(runs, key=lambda run: run.details["quantised"][bits[0]]["bytes"]):
        kept = [result.details["quantised"][bit] for bit in bits]
        cells = [f"{_mean_of(np.array(one['refined']))} ({one['bytes'] / 1000:.2f} kB)" for one in kept]
        rows.append([str(result.configuration["arm"]), str(result.details["width"]), *cells])
    return Table("Rounded matrices", ["network", "width", *(f"{bit} bits" for bit in bits)], rows)


def _size(result: RunResult) -> float:
    return float(result.configuration["size"])


def _without(table: Table, column: str) -> Table:
    keep = [place for place, name in enumerate(table.columns) if name != column]
    return Table(table.title, [table.columns[i] for i in keep], [[row[i] for i in keep] for row in table.rows])


def differences(results: Sequence[RunResult], part: str) -> dict[str, np.ndarray]:
    """Arm -> its values less those of the frozen sine, pair by pair of signal and seed; none of the sine itself."""
    values = {str(r.configuration["arm"]): _flat(r.details["values"]) for r in results if _part_of(r) == part}
    base = values.get(FROZEN)
    if base is None:
        return {}
    return {arm: own - base for arm, own in values.items() if arm != FROZEN}


def _part(part: str, results: Sequence[RunResult]) -> Table:
    gains = differences(results, part)
    rows = []
    for arm in ARMS:
        for result in (r for r in results if r.configuration["arm"] == arm):
            details, values = result.details, _flat(result.details["values"])
            won = f"{(gains[arm] > 0).sum()} of {len(gains[arm])}" if arm in gains else ""
            rows.append(
                [
                    arm,
                    f"{values.mean():.2f}",
                    f"{values.min():.2f}",
                    mean_and_error(gains[arm]) if arm in gains else "",
                    won,
                    f"{details['parameters']:,}",
                    str(details["width"]),
                    str(details["steps"]),
                    f"{details['step_ms']:.2f}",
                    f"{details['rate']:g}",
                ]
            )
    columns = [
        "network",
        "mean",
        "worst",
        "over the frozen sine",
        "pairs won",
        "parameters",
        "width",
        "steps",
        "ms a step",
    ]
    return Table(TITLES[part], [*columns, "rate"], rows)


def _omega0(results: Sequence[RunResult]) -> Table:
    runs = [r for r in results if _part_of(r) in ("omega0", "pictures")]
    factors = sorted({float(r.configuration["factor"]) for r in runs})
    by_place = {(str(r.configuration["arm"]), float(r.configuration["factor"])): r for r in runs}
    rows = []
    for arm in ARMS if len(factors) > 1 else ():
        cells = [by_place.get((arm, factor)) for factor in factors]
        if sum(cell is not None for cell in cells) > 1:
            means = [_flat(cell.details["values"]).mean() if cell is not None else math.nan for cell in cells]
            rows.append([arm, *(f"{value:.2f}" for value in means), f"{np.nanmin(means):.2f}"])
    return Table(
        "Pictures, first omega0 times a factor: mean PSNR (dB)",
        ["network", *(f"x{factor:g}" for factor in factors), "worst"],
        rows,
    )


def _quantised(results: Sequence[RunResult]) -> Table:
    rows = []
    for arm in ARMS:
        for result in (r for r in results if r.configuration["arm"] == arm and "quantised" in r.details):
            kept: Mapping[str, Any] = result.details["quantised"]
            cells = [
                f"{np.mean(one['rounded']):.2f}, {np.mean(one['refined']):.2f} ({one['bytes'] / 1000:.1f} kB)"
                for one in kept.values()
            ]
            rows.append([arm, *cells])
            bits = [f"{bit} bits" for bit in kept]
    title = "Pictures, matrices rounded, the rest float: PSNR (dB) as rounded, and after 100 steps of the rest"
    return Table(title, ["network", *(bits if rows else [])], rows)


def _codes(results: Sequence[RunResult]) -> Table:
    order = {arm: place for place, arm in enumerate(CODE_ARMS)}
    # Seeds may have been run apart.
    runs: dict[tuple[int, int, int, int, float, float], list[RunResult]] = {}
    for result in (r for r in results if _part_of(r) == "codes"):
        details = result.details
        arm, rate = order[str(result.configuration["arm"])], float(details.get("rate", FIRST_META_RATE))
        key = (details["code"], _steps(result), arm, details["width"], rate, details.get("step_factor", math.nan))
        runs.setdefault(key, []).append(result)
    rows = []
    for (code, steps, place, width, rate, factor), same in sorted(runs.items()):
        columns = [np.concatenate([r.details["values"][name] for r in same]) for name in same[0].details["values"]]
        known = [value for r in same for value in r.details.get("held_out", ())]
        cells = [f"{np.mean(known):.2f}" if known else "", *(_mean_of(column) for column in columns)]
        sizes = [str(code), f"{same[0].details['parameters']:,}", str(width), f"{steps:,}", f"{rate:g}"]
        first = f"x{factor:g}" if math.isfinite(factor) else ""
        rows.append([list(CODE_ARMS)[place], *cells, *sizes, first, str(len(columns[0]))])
    measures = ["held out", "after 3 steps", "after 100 steps"]
    sizes = ["numbers a picture", "shared parameters", "width", "learnt by", "rate", "first steps", "seeds"]
    return Table(
        "Codes of new faces: PSNR (dB), mean over seeds and its standard error", ["code", *measures, *sizes], rows
    )


def _mean_of(values: np.ndarray) -> str:
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{values.mean():.2f} ± {error:.2f}"


def _steps(result: RunResult) -> int:
    return int(result.configuration["steps"])


def figure(results: Sequence[RunResult]) -> Figure:
    """For each part, every pair's difference from the frozen sine, and the mean over pairs."""
    from matplotlib.figure import Figure

    parts = {part: differences(results, part) for part in TITLES}
    parts = {part: gains for part, gains in parts.items() if gains}
    columns = min(ACROSS, max(1, len(parts)))
    lines = max(1, -(-len(parts) // columns))
    found = Figure(figsize=(1.6 + 2.8 * columns, 2.8 * lines), layout="constrained")
    grid = found.subplots(lines, columns, sharey=True, squeeze=False)
    axes = list(grid.flat)
    for axis in axes[len(parts) :]:
        axis.set_visible(False)
    names = [arm for arm in ARMS if any(arm in gains for gains in parts.values())][::-1]
    for axis, (part, gains) in zip(axes, parts.items(), strict=False):
        for row, arm in enumerate(names):
            values = gains.get(arm, np.zeros(0))
            axis.scatter(values, np.full(len(values), row), s=14, alpha=0.6, color="#0072B2", linewidths=0)
            if len(values):
                axis.plot([values.mean()] * 2, [row - 0.3, row + 0.3], color="black", linewidth=1.4)
        axis.axvline(0, color="#999999", linewidth=0.8)
        axis.set_title(TITLES[part].split(":")[0], fontsize=10)
        axis.set_xlabel("dB over the frozen sine")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in grid[:, 0]:
        axis.set_yticks(range(len(names)), names)
    return found


def _part_of(result: RunResult) -> str:
    return str(result.configuration["part"])


def _flat(values: Mapping[str, Sequence[float]]) -> np.ndarray:
    return np.array([value for one in values.values() for value in one], dtype=float)
