"""One change at a time around STAF's default plan: what each part of the recipe is worth.

python -m paper recipe-ablation --images kodak256.npy --pick 2 5 --steps 1000 --groups start optimiser
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper.data.sources import add_source_arguments, chosen_sources, open_source
from paper.measures.interpolation_quality import mean_interpolation
from paper.protocols.plan_variants import PlanVariant
from paper.protocols.variant_experiment import VariantExperiment
from paper.report.output import write_tables
from paper.runner.options import add_seeds, count
from paper.runner.result import RunResult
from paper.runner.sweep import default_device
from paper.searches.recipe_space import known_optimisers
from staf._tables import Table, mean, number

NAME = "recipe-ablation"
DATA = "images"
QUICK = {"steps": 3, "groups": ["terms"]}
DEFAULT = "default"
GROUPS = ("start", "weights", "omega0", "terms", "size", "rates", "optimiser", "schedule", "batch", "precision")


@dataclass(frozen=True)
class AblationRun:
    """One change on one signal; `change` says it in words and `variant` is it."""

    signal: str
    group: str
    change: str
    variant: PlanVariant
    steps: int
    seed: int = 0


@dataclass(frozen=True)
class RecipeAblation(VariantExperiment):
    """The experiment; `sources` maps the names in configurations to signals."""

    name = NAME
    protocol = (
        "STAF's default plan with one change; PSNR of the final weights, one fresh pass over all points, clamped, "
        "peak 1"
    )

    def label(self, configuration: AblationRun) -> str:
        c = configuration
        return f"{c.change} {c.signal} seed {c.seed}"


def changes(base: Any, field: Any, *, points: int, steps: int) -> dict[str, dict[str, PlanVariant]]:
    """Group -> what is changed, in words -> the variant, around the recipe and the field of the default plan."""
    arguments = field.architecture["arguments"]
    omega0, matrix, rate = arguments["omega0"], base.matrix_rate, base.rate
    warm = getattr(base.schedule, "warm", 0.0)

    def network(**changed: Any) -> PlanVariant:
        return PlanVariant("staf", arguments=changed)

    def recipe(**changed: Any) -> PlanVariant:
        return PlanVariant("staf", recipe=changed)

    part = max(1, points // 8)
    found = {
        "start": {
            "extra terms at 0": network(extra_amplitude=0.0),
            "extra terms x0.03": network(extra_amplitude=0.03),
            "extra terms x0.3": network(extra_amplitude=0.3),
            "extra frequencies random": network(spread="random"),
            "all terms random (theorem)": network(law="theorem"),
            "all terms random (released)": network(law="released"),
        },
        "weights": {
            "torch's weights": network(weights="torch"),
            "unit-gain weights": network(weights="unit_gain"),
            "theorem with unit-gain weights": network(law="theorem", weights="unit_gain"),
        },
        "omega0": {
            **{f"first omega0 x {f:g}": network(omega0=_short(omega0 * f)) for f in (0.33, 0.67, 1.5)},
            **{f"hidden omega0 {value:g}": network(hidden_omega0=value) for value in (20.0, 45.0)},
        },
        "terms": {f"{count} term{'s' if count > 1 else ''}": network(terms=count) for count in (1, 2, 3, 5, 8, 20)},
        "size": {
            **{f"width {width}": network(width=width) for width in (128, 192, 320, 384)},
            "3 layers of 313": network(depth=3, width=313),
            "6 layers of 198": network(depth=6, width=198),
        },
        "rates": {
            "Adam's rate / 2": recipe(rate=rate / 2),
            "Adam's rate x 2": recipe(rate=rate * 2),
            "matrix rate / 2": recipe(matrix_rate=matrix / 2),
            "matrix rate x 2": recipe(matrix_rate=matrix * 2),
            "both rates x 1.6": recipe(rate=rate * 1.6, matrix_rate=matrix * 1.6),
            **{
                f"C, Omega and Phi at {factor:g}x": recipe(
                    amplitude_rate=factor, frequency_rate=factor, phase_rate=factor
                )
                for factor in (0.1, 1.0, 3.0)
            },
            "C at 3x": recipe(amplitude_rate=3.0),
            "Phi at 3x": recipe(phase_rate=3.0),
            "Omega at 0.3x": recipe(frequency_rate=0.3),
            "Omega at 10x": recipe(frequency_rate=10.0),
        },
        "optimiser": {f"optimiser {name}": recipe(optimiser=name) for name in known_optimisers()},
        "schedule": {
            "constant rates": recipe(schedule={"name": "constant"}),
            "exponential to 5%": recipe(schedule={"name": "exponential", "final": 0.05}),
            "cosine to 0": recipe(schedule={"name": "cosine", "floor": 0.0, "warm": warm}),
            "cosine to 10%": recipe(schedule={"name": "cosine", "floor": 0.1, "warm": warm}),
            **{
                f"rates rise over {share:.0%}": recipe(schedule={"name": "cosine", "floor": 0.01, "warm": share})
                for share in (0.0, 0.05, 0.1, 0.2)
            },
        },
        "batch": {
            "1/8 of the points a step": recipe(batch=part),
            "1/8 of the points, 8x the steps": recipe(batch=part, steps=8 * steps),
            "1/8 of the points, 8x the steps, half the rates": recipe(
                batch=part, steps=8 * steps, rate=rate / 2, matrix_rate=matrix / 2
            ),
        },
        "precision": {f"precision {name}": recipe(precision=name) for name in ("fp32", "bf16x3", "tf32")},
    }
    same = base.to_plain()
    return {
        group: {
            words: variant
            for words, variant in entries.items()
            if any(same[k] != v for k, v in variant.recipe.items())
            or any(arguments[k] != v for k, v in variant.arguments.items())
        }
        for group, entries in found.items()
    }


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def table(results: Sequence[RunResult]) -> Table:
    """A row for each change, with what it gains or loses against the default on the same signals and seeds."""
    groups: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for result in results:
        groups[str(result.configuration["group"]), str(result.configuration["change"])].append(result)
    base = {_place(result): result.metrics["psnr"] for result in groups.get((DEFAULT, DEFAULT), [])}

    def gains(group: Sequence[RunResult]) -> list[float]:
        return [result.metrics["psnr"] - base[_place(result)] for result in group if _place(result) in base]

    order = {name: place for place, name in enumerate((DEFAULT, *GROUPS))}
    rows = []
    for (group, change), members in sorted(groups.items(), key=lambda item: (order[item[0][0]], -_mean(item[1]))):
        difference = gains(members)
        rows.append(
            [
                group if group != DEFAULT else "",
                change,
                number(_mean(members)),
                "" if group == DEFAULT else f"{mean(difference):+.2f}" if difference else "-",
                number(min(difference, default=math.nan)) if group != DEFAULT else "",
                number(mean_interpolation(members), 1),
                f"{max(int(result.details['scalars']) for result in members):,}",
                number(mean([float(result.details["step_ms"]) for result in members]), 2),
                str(sum(bool(result.details["diverged"]) for result in members)),
                str(len(members)),
            ]
        )
    signals = sorted({result.data_name for result in results})
    steps = sorted({int(result.configuration["steps"]) for result in results})
    title = f"One change at a time, {'/'.join(map(str, steps))} steps on {', '.join(signals)}, final weights"
    columns = [
        "part",
        "change",
        "PSNR (dB)",
        "against default",
        "worst case",
        "interpolated (dB)",
        "parameters",
        "ms per step",
        "diverged",
        "runs",
    ]
    return Table(title, columns, rows)


def _mean(members: Sequence[RunResult]) -> float:
    return mean([result.metrics["psnr"] for result in members])


def _place(result: RunResult) -> tuple[str, int]:
    return result.data_name, int(result.configuration["seed"])


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown, from the results alone."""
    return [write_tables(NAME, results, [table(results)], folder)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_source_arguments(parser, recordings=False)
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--steps", type=count, default=300, metavar="N", help="steps of each fit")
    add_seeds(parser)


def sweep(arguments: argparse.Namespace) -> tuple[RecipeAblation, list[AblationRun]]:
    """The experiment and its configurations from the options; the default plan is always among them."""
    from paper.protocols.plan_variants import plan_of

    sources = chosen_sources(arguments)
    runs = []
    for name, source in sources.items():
        signal = open_source(source, name)
        points = math.prod(signal.shape)
        base = plan_of(signal, PlanVariant("staf"), arguments.steps, arguments.device or default_device())
        rows = changes(base.recipe, base.field(0), points=points, steps=arguments.steps)
        chosen = {DEFAULT: {DEFAULT: PlanVariant("staf")}, **{group: rows[group] for group in arguments.groups}}
        entries = [(group, words, variant) for group, members in chosen.items() for words, variant in members.items()]
        for (group, words, variant), seed in itertools.product(entries, arguments.seeds):
            runs.append(AblationRun(name, group, words, variant, arguments.steps, seed))
    return RecipeAblation(sources), runs
