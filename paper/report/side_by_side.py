"""The paper's numbers, ours by its recipe, and ours by our default, side by side with mean, spread, seeds and time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paper.report.rows import deviation
from paper.runner.result import RunResult
from paper.study.rows import PROTOCOLS
from staf._tables import Table, mean, number

# Ours by the paper's text, by the code of its authors, by our default plan.
SHORT = {"paper": "by the paper", "released": "as released", "ours": "our default"}


@dataclass(frozen=True)
class Column:
    """A measure of a table: its key in results, its heading and its digits, and the protocols that it is shown for."""

    key: str
    heading: str
    digits: int
    protocols: tuple[str, ...] = PROTOCOLS


def side_by_side(
    title: str,
    results: Sequence[RunResult],
    columns: Sequence[Column],
    published: Mapping[str, Mapping[str, float]],
    *,
    rows: Sequence[str] = (),
    order: str | None = None,
) -> Table:
    """Rows of networks; for every measure the paper's number, then ours by each protocol that was run.

    Ours are means over images of the means over seeds, with the standard deviation over images (as the paper's) where
    there are several, and over seeds where there is one image. `rows` come in this order; `order` sorts by that measure
    of the last protocol instead.
    """
    have = {*published, *(row_of(result) for result in results)}
    rows = [row for row in dict.fromkeys([*rows, *published, *(row_of(r) for r in results)]) if row in have]
    groups: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for result in results:
        groups[row_of(result), str(result.configuration["protocol"])].append(result)
    protocols = [p for p in PROTOCOLS if any(key[1] == p for key in groups)]
    if order is not None:
        rows.sort(key=lambda row: -_sortable(groups.get((row, protocols[-1]), []), order))
    printed = [c for c in columns if any(c.key in row for row in published.values())]
    measured = {
        c: [p for p in protocols if p in c.protocols and any(values_of(groups.get((r, p), []), c.key) for r in rows)]
        for c in columns
    }
    heads, table = ["network"], []
    for column in columns:
        heads += [f"{column.heading}, published"] if column in printed else []
        heads += [f"{column.heading}, {SHORT[p]}" for p in measured[column]]
    timed = [] if any(column.key == "training_seconds" for column in columns) else protocols
    heads += [f"training (s), {SHORT[p]}" for p in timed] + ["images", "seeds"]
    for row in rows:
        cells, theirs = [row], published.get(row, {})
        for column in columns:
            if column in printed:
                cells.append(spread(theirs.get(column.key), theirs.get(f"{column.key}_sd"), column.digits))
            for p in measured[column]:
                cells.append(mean_and_spread(spread_over(groups.get((row, p), []), column.key), column.digits))
        cells += [_seconds(groups.get((row, p), [])) for p in timed]
        own = [result for (name, _), group in groups.items() if name == row for result in group]
        cells += [str(len({image for result in own for image in images_of(result)})) if own else "not run"]
        cells.append(str(len({result.configuration["seed"] for result in own})) if own else "-")
        table.append(cells)
    return Table(f"{title} ({machine(results)})", heads, table)


def row_of(result: RunResult) -> str:
    """The name of a result's row."""
    return str(result.configuration["row"]["name"])


def images_of(result: RunResult) -> dict[str, Mapping[str, float]]:
    """Each image's measures."""
    return dict(result.details["images"])


def values_of(group: Sequence[RunResult], key: str) -> dict[str, float]:
    """Each image's value of a measure, mean over seeds."""
    found: dict[str, list[float]] = defaultdict(list)
    for result in group:
        for name, measures in images_of(result).items():
            if key in measures:
                found[name].append(float(measures[key]))
    return {name: mean(values) for name, values in found.items()}


def spread_over(group: Sequence[RunResult], key: str) -> list[float]:
    """The values whose spread a table shows: one for each image, or of one image one for each seed."""
    found = values_of(group, key)
    if len(found) != 1:
        return list(found.values())
    (image,) = found
    return [float(images_of(result)[image][key]) for result in group if key in images_of(result).get(image, {})]


def mean_and_spread(found: Sequence[float], digits: int) -> str:
    """The mean, and the standard deviation where there are several values.

    >>> mean_and_spread([1.0, 3.0], 1), mean_and_spread([], 1)
    ('2.0 ± 1.4', '-')
    """
    values = [value for value in found if math.isfinite(value)]
    if not values:
        return "-"
    return spread(mean(values), deviation(values), digits)


def spread(value: float | None, deviation: float | None, digits: int) -> str:
    """A number with its spread, or a dash.

    >>> spread(57.13, 9.12, 2), spread(None, None, 2)
    ('57.13 ± 9.12', '-')
    """
    if value is None:
        return "-"
    return number(value, digits) + ("" if deviation is None else f" ± {number(deviation, digits)}")


def machine(results: Sequence[RunResult]) -> str:
    """Where the results were computed, and when."""
    found = dict.fromkeys(_machine_of(result) for result in results)
    dates = sorted({str(result.document.get("date", ""))[:10] for result in results} - {""})
    return "; ".join([*found, *dates[-1:]]) or "not run"


def _machine_of(result: RunResult) -> str:
    where = result.document.get("machine", "")
    return str(where.get("gpu") or where.get("cpu")) if isinstance(where, Mapping) else str(where)


def _seconds(group: Sequence[RunResult]) -> str:
    return number(mean([float(result.details["training_seconds"]) for result in group]), 2) if group else "-"


def _sortable(group: Sequence[RunResult], key: str) -> float:
    values = [value for value in values_of(group, key).values() if math.isfinite(value)]
    return mean(values) if values else -math.inf
