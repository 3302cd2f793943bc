"""One network under one protocol, for the tasks beside images: the paper's, its released code's, and ours."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from staf.experiments.result import Result
from staf.experiments.tables import Table, mean, number

if TYPE_CHECKING:
    from staf.planning import Plan
    from staf.training import Recipe

PROTOCOLS = ("ours", "paper", "released")
MODELS = ("staf", "siren", "finer", "wire", "gauss", "ffn", "pemlp", "mfn", "incode")
SINES = ("staf", "siren", "finer", "wire", "incode")


def paper_plan(
    signal: Any,
    model: str,
    staf_plan: Callable[[Any], Plan],
    *,
    recipe: Recipe | None = None,
    sines: Mapping[str, float] | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plan:
    """The published schedule for every network: STAF as `staf_plan` builds it, the others with their own constants.

    `sines` are the constants that the task gives to networks of sines, `own` those it gives to networks by name. On
    CUDA the hidden products are split bfloat16, whose final quality is that of float32 (docs/recipes.md).
    """
    from staf.nn import NETWORKS
    from staf.planning import Plan

    chosen = staf_plan(signal)
    recipe = (recipe or chosen.recipe).replace(precision="bf16x3")
    if model == "staf":
        return Plan(chosen.field_factory, recipe, chosen.reasons, chosen.name)
    arguments: dict[str, Any] = {**(sines or {})} if model in SINES else {}
    arguments |= (own or {}).get(model, {})

    def factory(generator: Any) -> Any:
        return NETWORKS[model].factory(signal.in_features, signal.out_features, generator=generator, **arguments)

    return Plan(factory, recipe, {"network": f"{model} under {chosen.name}'s schedule"}, chosen.name)


def protocol_table(
    title: str,
    results: Sequence[Result],
    measures: Mapping[str, tuple[str, int]],
    published: Mapping[str, Mapping[str, float]],
    *,
    by: str = "psnr",
    scientific: Sequence[str] = (),
) -> Table:
    """A row for each network and protocol, best mean of `by` first; `measures` maps a metric to heading and digits.

    `published` has the paper's own numbers by network and metric, which stand in columns of their own; the metrics in
    `scientific` are told with an exponent.
    """
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[str(result.configuration["model"]), str(result.configuration["protocol"])].append(result)

    def value(group: Sequence[Result], metric: str) -> float:
        return mean([result.metrics[metric] for result in group if metric in result.metrics])

    def told_as(metric: str, found: float) -> str:
        return number(found, measures[metric][1], scientific=metric in scientific)

    told = [metric for metric in measures if any(metric in row for row in published.values())]
    columns = ["network", "protocol", *(heading for heading, _ in measures.values())]
    columns += [f"paper: {measures[metric][0]}" for metric in told] + ["parameters", "steps", "runs"]
    rows = []
    ranked = sorted(groups.items(), key=lambda item: (math.isnan(value(item[1], by)), -value(item[1], by)))
    for (model, protocol), group in ranked:
        row = [model, protocol, *(told_as(metric, value(group, metric)) for metric in measures)]
        row += [told_as(metric, published.get(model, {}).get(metric, math.nan)) for metric in told]
        parameters = group[0].details.get("parameters")
        row.append("-" if parameters is None else f"{parameters:,}")
        steps = sorted({int(result.details["steps"]) for result in group})
        row += ["-" if steps[-1] == 0 else f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"]
        row.append(str(len(group)))
        rows.append(row)
    return Table(title, columns, rows)
