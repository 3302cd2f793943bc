"""The same number of tuning trials for every network: the best recipe of each, and the log of all trials.

    python -m paper recipe-search --images kodak256.npy --pick 0 --trials 8 --steps 300

The log is a CSV of one row a run, from which `model-table --tuned` reads the best trial of each network.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paper.data.sources import add_source_arguments, chosen_sources
from paper.protocols.plan_variants import PlanVariant
from paper.protocols.variant_experiment import VariantExperiment
from paper.report.output import save_figure, write_tables
from paper.runner.options import add_models, add_seeds, count
from paper.runner.result import RunResult
from paper.searches.recipe_space import CONSTANTS, known_optimisers, trials
from paper.searches.search_log import Trial, log_rows, ranked, summary, trials_figure, write_log
from staf._tables import Table

NAME = "recipe-search"
DATA = "images"
QUICK = {"steps": 3, "trials": 2, "models": ["staf", "siren"]}


@dataclass(frozen=True)
class TrialRun:
    """One trial of one network on one signal."""

    signal: str
    variant: PlanVariant
    trial: int
    steps: int
    seed: int = 0


@dataclass(frozen=True)
class RecipeSearch(VariantExperiment):
    """The experiment; `sources` maps the names in configurations to signals."""

    name = NAME
    protocol = (
        "trial 0 is the default plan; the others are one Latin hypercube for every network over rates, optimiser and "
        "the network's own constants; PSNR of the final weights, one fresh pass over all points, clamped, peak 1"
    )

    def label(self, configuration: TrialRun) -> str:
        c = configuration
        return f"{c.variant.model} trial {c.trial} {c.signal} seed {c.seed}"


def table(results: Sequence[RunResult]) -> Table:
    """A row for each network: its default plan, its best trial, and what that trial is."""
    by_model = ranked(log_rows(results))
    columns = ["network", "default (dB)", "best (dB)", "median (dB)", "best trial", "optimiser", "rate", "matrix rate"]
    columns += ["other changes", "diverged", "trials"]
    rows = [_row(model, members) for model, members in sorted(by_model.items(), key=lambda item: -item[1][0].psnr)]
    signals = sorted({result.data_name for result in results})
    steps = sorted({int(result.configuration["steps"]) for result in results})
    title = f"Equal trials, {'/'.join(map(str, steps))} steps on {', '.join(signals)}, final weights"
    return Table(title, columns, rows)


def _row(model: str, members: Sequence[Trial]) -> list[str]:
    best = members[0]
    row = best.rows[0]
    others = {k: v for k, v in best.variant.recipe.items() if k not in ("optimiser", "rate", "matrix_rate")}
    # Three equal rates are one change.
    factors = {others.pop(f"{part}_rate", None) for part in ("amplitude", "frequency", "phase")} - {None}
    changes = [f"activation rates x{factor:g}" for factor in factors]
    changes += [f"{name} {value}" for name, value in {**others, **best.variant.arguments}.items()]
    return [
        model,
        *summary(members),
        row["optimiser"],
        f"{float(row['rate']):g}",
        f"{float(row['matrix_rate']):g}",
        ", ".join(changes) or "none",
        str(sum(trial.diverged > 0 for trial in members)),
        str(len(members)),
    ]


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The log as CSV, the table as Markdown and the trials as PNG, from the results alone."""
    written = write_tables(NAME, results, [table(results)], folder)
    log = write_log(folder / f"{NAME}.csv", log_rows(results))
    figure = trials_figure(results, "PSNR of the final weights (dB)")
    return [log, written, save_figure(figure, folder / f"{NAME}.png")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_source_arguments(parser)
    add_models(parser, CONSTANTS)
    parser.add_argument("--trials", type=int, default=8, metavar="N", help="of each network, default plan included")
    parser.add_argument("--steps", type=count, default=300, metavar="N", help="steps of each fit")
    add_seeds(parser)
    parser.add_argument("--design", type=int, default=0, metavar="N", help="seed of the trials' places in the space")
    parser.add_argument("--optimisers", nargs="+", default=[], metavar="NAME", help="searched (default: all but adam)")
    parser.add_argument("--fixed-constants", action="store_true", help="search the recipe alone, not the networks")


def sweep(arguments: argparse.Namespace) -> tuple[RecipeSearch, list[TrialRun]]:
    """The experiment and its configurations from the options, network by network."""
    sources = chosen_sources(arguments)
    unknown = sorted(set(arguments.optimisers) - set(known_optimisers()))
    if unknown:
        raise ValueError(f"--optimisers must be among {', '.join(known_optimisers())}, got {', '.join(unknown)}")
    constants = not (arguments.fixed_constants or arguments.recording)
    runs = []
    for model in arguments.models:
        tried = trials(
            model, arguments.trials, seed=arguments.design, optimisers=arguments.optimisers, constants=constants
        )
        runs += [
            TrialRun(signal, variant, place, arguments.steps, seed)
            for (place, variant), signal, seed in itertools.product(enumerate(tried), sources, arguments.seeds)
        ]
    return RecipeSearch(sources), runs
