"""The table of networks and protocols, with the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from paper.report.rows import row_name
from paper.runner.result import RunResult
from staf._tables import Table, mean, number


def protocol_table(
    title: str,
    results: Sequence[RunResult],
    measures: Mapping[str, tuple[str, int]],
    published: Mapping[str, Mapping[str, float]],
    *,
    by: str = "psnr",
    scientific: Sequence[str] = (),
) -> Table:
    """A row for each network and protocol, best mean of `by` first; `measures` maps a metric to heading and digits.

    `published` has the paper's own numbers by network and metric, shown in columns of their own; the metrics in
    `scientific` are shown with an exponent.
    """
    groups: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for result in results:
        groups[row_name(result.configuration), str(result.configuration["protocol"])].append(result)

    def value(group: Sequence[RunResult], metric: str) -> float:
        return mean([result.metrics[metric] for result in group if metric in result.metrics])

    def formatted(metric: str, found: float) -> str:
        return number(found, measures[metric][1], scientific=metric in scientific)

    shown = [metric for metric in measures if any(metric in row for row in published.values())]
    columns = ["network", "protocol", *(heading for heading, _ in measures.values())]
    columns += [f"paper: {measures[metric][0]}" for metric in shown] + ["parameters", "steps", "runs"]
    rows = []
    ranked = sorted(groups.items(), key=lambda item: (math.isnan(value(item[1], by)), -value(item[1], by)))
    for (model, protocol), group in ranked:
        row = [model, protocol, *(formatted(metric, value(group, metric)) for metric in measures)]
        row += [formatted(metric, published.get(model, {}).get(metric, math.nan)) for metric in shown]
        parameters = group[0].details.get("parameters")
        row.append("-" if parameters is None else f"{parameters:,}")
        steps = sorted({int(result.details["steps"]) for result in group})
        row += ["-" if steps[-1] == 0 else f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"]
        row.append(str(len(group)))
        rows.append(row)
    return Table(title, columns, rows)
