"""Decibels against seconds for every network and recipe on one machine, and how much sooner than the released recipe.

    python -m paper time-to-quality --images kodak256.npy --pick 2 --budgets 50 100 200 400 1000

Networks with their default plan run once for each budget of steps, because a schedule knows its end. The released STAF
recipe runs in our implementation and in its authors' own way (eager, their formula).
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.data.sources import Source, add_source_arguments, chosen_sources, open_source, source_data
from paper.protocols.plan_variants import PlanVariant
from paper.protocols.published import MODELS
from paper.report.output import save_figure, write_tables
from paper.report.quality_tables import released_table, seconds_table
from paper.runner.experiment import Context, Data, Outcome
from paper.runner.options import add_models, add_seeds
from paper.runner.result import RunResult
from staf._tables import Table
from staf.comparison.result_file import thin

if TYPE_CHECKING:
    from staf.planning import Plan

NAME = "time-to-quality"
DATA = "images"
QUICK = {"budgets": [2, 4], "epochs": 2, "models": ["staf", "siren"]}
# By steps: the default plan, Adam alone. By epochs of mini-batches: STAF's published recipes.
BY_STEPS = ("default", "adam")
BY_EPOCHS = ("paper", "released", "released code")


@dataclass(frozen=True)
class TimeRun:
    """One network by one recipe on one image; `budget` counts steps, or epochs for STAF's published recipes.

    `timed` of `released code` stops after so many epochs: its time is then that of all by proportion, and it has no
    final value of its own.
    """

    image: str
    model: str
    recipe: str
    budget: int
    seed: int = 0
    timed: int | None = None


@dataclass(frozen=True)
class TimeToQuality:
    """The experiment; `sources` maps the names in configurations to images."""

    sources: Mapping[str, Source]

    name = NAME
    version = 1
    protocol = (
        "seconds of training on one machine, without compiling and recording, which are reported separately; curves "
        "and times to a level are training PSNR, not clamped: of the step's full batch, or the running mean of "
        "an epoch of mini-batches; final values are of the final weights, one fresh pass over all pixels, clamped, "
        "peak 1"
    )

    def label(self, configuration: TimeRun) -> str:
        c = configuration
        return f"{c.image} {c.model} {c.recipe} {c.budget} seed {c.seed}"

    def data(self, configuration: TimeRun) -> Data:
        return source_data(self.sources[configuration.image], configuration.image)

    def run(self, configuration: TimeRun, context: Context) -> Outcome:
        from paper.measures.step_times import timed_outcome
        from paper.protocols.variant_run import free_memory

        c = configuration
        image = open_source(self.sources[c.image], c.image)
        plan = plan_for(image, c, context.device)
        if c.recipe == "released code":
            return run_released_code(image, plan, c, context.device)
        fit = context.fit(image, plan=plan, seed=c.seed)
        outcome = timed_outcome(fit, fit.task.points)
        free_memory(context.device)
        return outcome


def plan_for(image: Any, run: TimeRun, device: str) -> Plan:
    """The plan of a run; `adam` is the network's published constants, Adam 1e-3 x 0.05^(t/T), full batches."""
    from paper.protocols.plan_variants import plan_of
    from staf.planning import Plan, plans

    if run.recipe in BY_STEPS:
        base = "default" if run.recipe == "default" else "paper"
        return plan_of(image, PlanVariant(run.model, base), run.budget, device)
    published = plans.paper_staf_image(image) if run.recipe == "paper" else plans.released_staf_image(image)
    recipe = published.recipe.replace(epochs=run.budget)
    return Plan(published.field_factory, recipe, published.reasons, published.name)


def run_released_code(image: Any, plan: Plan, run: TimeRun, device: str) -> Outcome:
    """The released recipe, eagerly."""
    from paper.measures.step_times import timed_history
    from paper.protocols.released_loop import train_released
    from staf.tasks import Reconstruction
    from staf.training import predictor

    task = Reconstruction(image, plan.recipe.convention).to(device)
    epochs = min(run.timed or run.budget, run.budget)
    network, columns = train_released(task, plan.field(run.seed), plan.recipe, seed=run.seed, epochs=epochs)
    # The epochs' means are over all pixels already.
    timed = timed_history([int(step) for step in columns["step"]], columns["loss"], columns["seconds"], 1)
    details = timed.pop("details")
    total = plan.recipe.total_steps(task.points) or 0
    done = int(columns["step"][-1]) + 1
    details |= {"steps": total, "timed_epochs": epochs, "diverged": False}
    details["step_ms"] = round(details["step_ms"] * epochs / done, 4)
    details["training_seconds"] = round(details["training_seconds"] * total / done, 4)
    details["parameters"] = sum(p.numel() for p in network.parameters())
    finished = epochs == run.budget
    metrics = task.evaluate(predictor(network, 2**18)) if finished else {"psnr": math.nan}
    return Outcome(metrics, thin(timed), details)


def table(results: Sequence[RunResult]) -> Table:
    """A row for each network, recipe and budget: final value, time, start, and seconds to each level."""
    return seconds_table(results)


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """Both tables as Markdown and the curves as PNG, from the results alone."""
    from paper.report.quality_figure import quality_figure

    written = write_tables(NAME, results, [seconds_table(results), released_table(results)], folder)
    return [written, save_figure(quality_figure(results), folder / f"{NAME}.png")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_source_arguments(parser, recordings=False)
    add_models(parser, MODELS)
    parser.add_argument("--recipes", nargs="+", default=[*BY_STEPS, *BY_EPOCHS], choices=[*BY_STEPS, *BY_EPOCHS])
    parser.add_argument("--budgets", nargs="+", type=int, default=[50, 100, 200, 400, 1000], metavar="N")
    parser.add_argument("--epochs", type=int, default=1000, metavar="N", help="of STAF's published recipes")
    parser.add_argument(
        "--timed", type=int, default=None, metavar="N", help="epochs of the released code (default: all)"
    )
    add_seeds(parser)


def sweep(arguments: argparse.Namespace) -> tuple[TimeToQuality, list[TimeRun]]:
    """The experiment and its configurations from the options: Adam runs with the largest budget alone."""
    sources = chosen_sources(arguments)
    if arguments.epochs < 1 or min(arguments.budgets) < 1:
        raise ValueError(f"--budgets and --epochs must be at least 1, got {arguments.budgets} and {arguments.epochs}")
    entries: list[tuple[str, str, int, int | None]] = []
    for model in arguments.models:
        if "default" in arguments.recipes:
            entries += [(model, "default", steps, None) for steps in sorted(arguments.budgets)]
        if "adam" in arguments.recipes:
            entries.append((model, "adam", max(arguments.budgets), None))
    for recipe in BY_EPOCHS:
        if recipe in arguments.recipes:
            entries.append(("staf", recipe, arguments.epochs, arguments.timed if recipe == "released code" else None))
    products = itertools.product(entries, sources, arguments.seeds)
    runs = [TimeRun(image, *entry[:3], seed, entry[3]) for entry, image, seed in products]
    for model in arguments.models:
        name, source = next(iter(sources.items()))
        plan_for(open_source(source, name), TimeRun(name, model, "default", 1), "cpu")
    return TimeToQuality(sources), runs
