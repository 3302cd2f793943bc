"""The table of networks and protocols, with the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from paper.report.rows import deviation, protocol_name, row_name
from paper.report.side_by_side import machine
from paper.runner.result import RunResult
from staf._tables import Table, mean, number

# Of each run: heading, and how it is written.
COSTS: dict[str, tuple[str, Callable[[float], str]]] = {
    "operations": ("FLOPs a point", lambda found: f"{found:,.0f}"),
    "inference_seconds": ("inference (s)", lambda found: number(found, 5)),
    "memory": ("memory (GiB)", lambda found: number(found / 2**30, 2)),
}
SECONDS = ("seconds", COSTS["inference_seconds"][0])


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
    `scientific` are shown with an exponent. Where a row has several runs, of several signals or seeds, they have a
    standard deviation. Seconds are of training, and of a pass over all points; memory is the most that training took
    on a GPU; FLOPs are those of one point, activations included. The title ends with the machine and the date.
    """
    groups: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for result in results:
        groups[row_name(result.configuration), protocol_name(result)].append(result)

    def value(group: Sequence[RunResult], metric: str) -> float:
        return mean([result.metrics[metric] for result in group if metric in result.metrics])

    def formatted(metric: str, found: float) -> str:
        return number(found, measures[metric][1], scientific=metric in scientific)

    def measured(group: Sequence[RunResult], metric: str) -> str:
        found = [result.metrics[metric] for result in group if metric in result.metrics]
        spread = deviation(found)
        return formatted(metric, mean(found)) + ("" if spread is None else f" ± {formatted(metric, spread)}")

    shown = [metric for metric in measures if any(metric in row for row in published.values())]
    columns = ["network", "protocol", *(heading for heading, _ in measures.values())]
    columns += [f"paper: {measures[metric][0]}" for metric in shown] + ["parameters", "steps", SECONDS[0]]
    costs = [key for key in COSTS if any(result.details.get(key) is not None for result in results)]
    columns += [*(COSTS[key][0] for key in costs), "seeds", "runs"]
    rows = []
    ranked = sorted(groups.items(), key=lambda item: (math.isnan(value(item[1], by)), -value(item[1], by)))
    for (model, protocol), group in ranked:
        row = [model, protocol, *(measured(group, metric) for metric in measures)]
        row += [formatted(metric, published.get(model, {}).get(metric, math.nan)) for metric in shown]
        parameters = group[0].details.get("parameters")
        row.append("-" if parameters is None else f"{parameters:,}")
        steps = sorted({int(result.details["steps"]) for result in group})
        row += ["-" if steps[-1] == 0 else f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"]
        took = [float(result.details["seconds"]) for result in group if "seconds" in result.details]
        row.append(number(mean(took), 1))
        for key in costs:
            found = [_cost(result.details[key]) for result in group if result.details.get(key) is not None]
            row.append(COSTS[key][1](mean(found)) if found else "-")
        seeds = {result.configuration.get("seed") for result in group}
        rows.append([*row, str(len(seeds)), str(len(group))])
    return Table(f"{title} ({machine(results)})" if results else title, columns, rows)


def _cost(value: float | Mapping[str, int]) -> float:
    """A number, or the sum of operations by kind."""
    return float(sum(value.values()) if isinstance(value, Mapping) else value)


def published_means(
    published: Mapping[str, Mapping[str, Mapping[str, float]]], names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The paper's means over signals, from its numbers by signal, network and metric; none if it lacks a signal.

    >>> numbers = {"a": {"staf": {"psnr": 1.0}}, "b": {"staf": {"psnr": 2.0}}}
    >>> published_means(numbers, ["a", "b"]), published_means(numbers, ["a", "c"])
    ({'staf': {'psnr': 1.5}}, {})
    """
    if not names or any(name not in published for name in names):
        return {}
    return {
        model: {metric: mean([published[name][model][metric] for name in names]) for metric in row}
        for model, row in published[names[0]].items()
    }


def without_seconds(table: Table) -> Table:
    """The table without its columns of seconds, for runs that shared a machine."""
    keep = [place for place, column in enumerate(table.columns) if column not in SECONDS]
    return Table(table.title, [table.columns[place] for place in keep], [[row[i] for i in keep] for row in table.rows])
