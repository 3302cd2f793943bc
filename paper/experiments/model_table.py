"""STAF against the other networks at equal steps, equal time and equal size, each by its default or its tuned recipe.

    python -m paper model-table --images kodak256.npy --tuned recipe-search.csv --recipes default tuned

`--tuned` is the log of `recipe-search`. With `--recording` the signal is an array of samples.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper.data.sources import add_source_arguments, chosen_sources, open_source
from paper.measures.interpolation_quality import mean_interpolation
from paper.measures.network_size import LIMIT
from paper.protocols.plan_variants import RECIPES, PlanVariant
from paper.protocols.published import MODELS
from paper.protocols.variant_experiment import VariantExperiment
from paper.report.output import save_figure, write_tables
from paper.report.rows import counted
from paper.runner.experiment import Context, Outcome
from paper.runner.options import add_models, add_seeds, count
from paper.runner.result import RunResult
from staf._tables import Table, mean, number

NAME = "model-table"
DATA = "images"
QUICK = {"steps": 3, "models": ["staf", "siren", "ffn"], "equal": ["steps", "size"]}
EQUAL = ("steps", "time", "size")
# A network whose best trial is its default plan runs once for both.
BOTH = "default = tuned"
# Steps that are timed to say how many of a network's take as long as the reference's.
PROBED_STEPS = 100


@dataclass(frozen=True)
class ModelRun:
    """One network on one signal: `steps` of its own, or as many as take as long as `steps` of the `reference`."""

    signal: str
    recipe: str
    variant: PlanVariant
    steps: int
    seed: int = 0
    reference: PlanVariant | None = None


@dataclass(frozen=True)
class ModelTable(VariantExperiment):
    """The experiment; `sources` maps names to signals, `tuned_on` names those that some recipe was tuned on."""

    tuned_on: tuple[str, ...] = ()

    name = NAME
    protocol = (
        "each network by its default plan, by the best trial of an equal search, or by the published schedule; PSNR of "
        "the final weights, one fresh pass over all points, clamped, peak 1; equal time is the training time of the "
        "reference's steps, without compiling and recording, measured beforehand on the same machine; sizes are real "
        "parameters of the saved network"
    )

    def label(self, configuration: ModelRun) -> str:
        c = configuration
        size = f" width {c.variant.arguments['width']}" if "width" in c.variant.arguments else ""
        time = " equal time" if c.reference is not None else ""
        return f"{c.signal} {c.variant.model} {c.recipe}{size}{time} seed {c.seed}"

    def run(self, configuration: ModelRun, context: Context) -> Outcome:
        from paper.protocols.variant_run import run_variant

        c = configuration
        signal = open_source(self.sources[c.signal], c.signal)
        steps = c.steps
        details: dict[str, Any] = {"tuned_on": c.signal in self.tuned_on}
        if c.reference is not None:
            from paper.protocols.variant_run import step_seconds

            wanted = c.steps * step_seconds(signal, c.reference, context.device, PROBED_STEPS, c.steps)
            own = step_seconds(signal, c.variant, context.device, PROBED_STEPS, c.steps)
            steps = max(1, round(wanted / own))
            details["wanted_seconds"] = round(wanted, 4)
        return run_variant(signal, c.variant, context, steps=steps, seed=c.seed, **details)


def table(results: Sequence[RunResult]) -> Table:
    """A row for each comparison, network and recipe: best mean first."""
    columns = ["equal", "network", "recipe", "mean (dB)", "held out", "worst signal", "LPIPS", "interpolated"]
    columns += ["sd of seeds", "diverged", "size", "steps", "seconds", "ms per step", "runs"]
    rows = []
    for equal in EQUAL:
        groups = _compared(results, equal)
        for (model, recipe), members in sorted(groups.items(), key=lambda item: -_overall(item[1])):
            fresh = [result for result in members if not result.details["tuned_on"]]
            rows.append(
                [
                    equal,
                    model,
                    recipe,
                    number(_overall(members)),
                    number(_overall(fresh)) if fresh else "-",
                    number(min(mean(values) for values in _by_signal(members).values())),
                    number(mean([r.metrics["lpips"] for r in members if "lpips" in r.metrics]), 4),
                    number(mean_interpolation(members), 1),
                    _spread(members),
                    str(sum(bool(result.details["diverged"]) for result in members)),
                    f"{members[0].details['scalars']:,}",
                    f"{mean([result.details['steps'] for result in members]):.0f}",
                    number(mean([result.details["training_seconds"] for result in members])),
                    number(mean([result.details["step_ms"] for result in members])),
                    str(len(members)),
                ]
            )
    signals = sorted({result.data_name for result in results})
    seeds = {result.configuration["seed"] for result in results}
    title = f"{counted(len(signals), 'signal')}, {counted(len(seeds), 'seed')}, final weights"
    return Table(title, columns, rows)


def _compared(results: Sequence[RunResult], equal: str) -> dict[tuple[str, str], list[RunResult]]:
    """The runs that a comparison takes, by network and recipe; nothing where only the reference has run."""
    groups: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for result in results:
        run = result.configuration
        matched = "width" in run["variant"]["arguments"]
        takes = {
            "steps": not matched and run["reference"] is None,
            "time": not matched and run["reference"] is not None,
            "size": matched and run["reference"] is None,
        }
        if takes[equal]:
            groups[str(run["variant"]["model"]), str(run["recipe"])].append(result)
    if equal == "steps" or not groups:
        return groups
    # Networks that already have the size, and the reference itself, ran once for all comparisons.
    references = [run["reference"] for run in (result.configuration for result in results) if run["reference"]]
    for key, members in _compared(results, "steps").items():
        fits = members[0].details["scalars"] <= LIMIT if equal == "size" else key[0] in {r["model"] for r in references}
        if key not in groups and fits:
            groups[key] = members
    return groups


def _by_signal(members: Sequence[RunResult]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for result in members:
        found[result.data_name].append(result.metrics["psnr"])
    return found


def _overall(members: Sequence[RunResult]) -> float:
    return mean([mean(values) for values in _by_signal(members).values()])


def _spread(members: Sequence[RunResult]) -> str:
    """The standard deviation over seeds of the mean over signals."""
    by_seed: dict[int, list[float]] = defaultdict(list)
    for result in members:
        by_seed[int(result.configuration["seed"])].append(result.metrics["psnr"])
    means = [mean(values) for values in by_seed.values()]
    return number(statistics.stdev(means)) if len(means) > 1 else "-"


def figure(results: Sequence[RunResult]) -> Any:
    """A dot for each signal, mean over seeds, at equal steps; signals that were tuned on are rings."""
    from paper.report.dot_plot import dot_figure

    groups = sorted(_compared(results, "steps").items(), key=lambda item: _overall(item[1]))
    values, marked = {}, {}
    for (model, recipe), members in groups:
        name = f"{model}, {recipe}"
        by_signal = _by_signal(members)
        tuned = {result.data_name for result in members if result.details["tuned_on"]}
        values[name] = [mean(entries) for entries in by_signal.values()]
        marked[name] = [signal in tuned for signal in by_signal]
    meaning = ("a signal, mean of its seeds", "tuned on")
    return dot_figure(values, marked=marked, meaning=meaning, label="PSNR of the final weights (dB), equal steps")


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown and the dots as PNG, from the results alone."""
    written = write_tables(NAME, results, [table(results)], folder)
    return [written, save_figure(figure(results), folder / f"{NAME}.png")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_source_arguments(parser)
    add_models(parser, MODELS)
    parser.add_argument("--recipes", nargs="+", default=["default"], choices=RECIPES)
    parser.add_argument("--tuned", default=None, metavar="PATH", help="log of a recipe search, or its results' folder")
    parser.add_argument("--tuned-on", nargs="+", default=[], metavar="NAME", help="other signals to mark as tuned on")
    parser.add_argument("--equal", nargs="+", default=["steps"], choices=EQUAL)
    parser.add_argument("--reference", default="staf", metavar="NAME", help="whose time the others get")
    parser.add_argument("--steps", type=count, default=1000, metavar="N")
    add_seeds(parser)


def sweep(arguments: argparse.Namespace) -> tuple[ModelTable, list[ModelRun]]:
    """The experiment and its configurations from the options, network by network."""
    sources = chosen_sources(arguments)
    best: dict[str, PlanVariant] = {}
    tuned_on = set(arguments.tuned_on)
    if "tuned" in arguments.recipes:
        from paper.searches.search_log import best_variants

        if arguments.tuned is None:
            raise ValueError("--tuned must name the log of a recipe search when --recipes has 'tuned', got none")
        best, searched = best_variants(arguments.tuned)
        missing = [model for model in arguments.models if model not in best]
        if missing:
            raise ValueError(f"--tuned must hold every network of --models, and lacks {', '.join(missing)}")
        tuned_on |= searched
    name, source = next(iter(sources.items()))
    example = open_source(source, name)
    runs: list[ModelRun] = []
    for model, recipe in itertools.product(arguments.models, arguments.recipes):
        variant = _variant(model, recipe, best)
        if {"default", "tuned"} <= set(arguments.recipes) and best[model] == PlanVariant(model) and recipe != "paper":
            if recipe == "tuned":
                continue
            recipe = BOTH
        against = "default" if recipe == BOTH else recipe
        reference = _variant(arguments.reference, against, best) if "time" in arguments.equal else None
        variants = _variants(example, variant, reference, arguments)
        for (chosen, timed_by), signal, seed in itertools.product(variants, sources, arguments.seeds):
            runs.append(ModelRun(signal, recipe, chosen, arguments.steps, seed, timed_by))
    return ModelTable(sources, tuple(sorted(tuned_on))), runs


def _variant(model: str, recipe: str, best: Mapping[str, PlanVariant]) -> PlanVariant:
    return best[model] if recipe == "tuned" else PlanVariant(model, recipe)


def _variants(
    example: Any, variant: PlanVariant, reference: PlanVariant | None, arguments: argparse.Namespace
) -> list[tuple[PlanVariant, PlanVariant | None]]:
    """The variant as it is, with another size, and in the reference's time, each where it differs and is asked for."""
    from paper.measures.network_size import matched_width, scalars
    from paper.protocols.plan_variants import plan_of

    architecture: Any = plan_of(example, variant, 1, "cpu").field(0).architecture
    found: list[tuple[PlanVariant, PlanVariant | None]] = [(variant, None)]
    if "size" in arguments.equal:
        width = matched_width(architecture)
        same = {**architecture, "arguments": {**architecture["arguments"], "width": width}}
        if scalars(same) != scalars(architecture):
            found.append((replace(variant, arguments={**variant.arguments, "width": width}), None))
    if reference is not None and variant.model != arguments.reference:
        found.append((variant, reference))
    return found
