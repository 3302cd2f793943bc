"""The same number of tuning trials for every network in super-resolution and denoising, with the log of all trials.

    python -m paper restoration-search --task denoising --images kodim03.npy --trials 8 --steps 300

Tasks, held-out pixels and measures are those of the experiments `super-resolution` and `denoising` under `ours`. Every
fit has full batches, the plan of a GPU, wherever it runs. The table has each network's best trial as a row for the
tables of `staf.planning.restoration`.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper.data.sources import add_source_arguments, chosen_sources, open_source
from paper.experiments import denoising, super_resolution
from paper.protocols.plan_variants import PlanVariant
from paper.protocols.published import MODELS
from paper.protocols.variant_experiment import VariantExperiment
from paper.report.output import save_figure, write_tables
from paper.runner.experiment import Context, Outcome
from paper.runner.options import add_models, add_seeds, count
from paper.runner.result import RunResult
from paper.searches.restoration_space import TASKS, in_code, settings_of, trials
from paper.searches.search_log import Trial, log_rows, ranked, summary, trials_figure, write_log
from staf._tables import Table

NAME = "restoration-search"
DATA = "images"
QUICK = {"steps": 3, "trials": 2, "models": ["staf", "siren"]}


@dataclass(frozen=True)
class RestorationTrial:
    """One trial of one network, restoring one image; the seed draws weights, noise and held-out pixels."""

    task: str
    signal: str
    variant: PlanVariant
    trial: int
    steps: int
    seed: int = 0


@dataclass(frozen=True)
class RestorationSearch(VariantExperiment):
    """The experiment; `sources` maps the names in configurations to images."""

    name = NAME
    protocol = (
        "trial 0 is the default plan; the others are one Latin hypercube for every network over the rate and the "
        "network's own constants; full batches; super-resolution: 4 times, 2x2 points a pixel, final weights; "
        "denoising: 10 photons, weights by 5% held-out pixels; PSNR against the clean image, one fresh pass, clamped, "
        "peak 1"
    )

    def label(self, configuration: RestorationTrial) -> str:
        c = configuration
        return f"{c.task} {c.variant.model} trial {c.trial} {c.signal} seed {c.seed}"

    def run(self, configuration: RestorationTrial, context: Context) -> Outcome:
        from paper.measures.step_times import timed_outcome
        from paper.protocols.variant_run import free_memory
        from staf.planning.restoration import with_settings
        from staf.tasks import KeepBestHeldOut

        c = configuration
        task, default = task_and_plan(open_source(self.sources[c.signal], c.signal), c)
        plan = with_settings(default, task, c.variant.model, settings_of(c.variant))
        watching: list[Any] = []
        if c.task == "denoising":
            watching = [KeepBestHeldOut(task, every=max(1, c.steps // 100))]
        fit = context.fit(task, plan=plan, seed=c.seed, callbacks=watching)
        kept_step = watching[0].best_step if watching else fit.result.steps
        module: Any = fit.module
        outcome = timed_outcome(fit, task.points, architecture=module.architecture, kept_step=kept_step)
        free_memory(context.device)
        return outcome


def task_and_plan(image: Any, configuration: RestorationTrial) -> tuple[Any, Any]:
    """What the experiment of that name fits under `ours`, and its default plan for a GPU."""
    c = configuration
    module: Any = denoising if c.task == "denoising" else super_resolution
    run = {"denoising": denoising.DenoisingRun, "super-resolution": super_resolution.SuperResolutionRun}[c.task]
    own = run(c.signal, c.variant.model, seed=c.seed, steps=c.steps)
    task = module.task_of(image, own)
    return task, module.plan_of(task, own, "cuda")


def table(results: Sequence[RunResult]) -> Table:
    """A row for each task and network: its default plan, its best trial, and what that trial is."""
    columns = ["network", "task", "default (dB)", "best (dB)", "median (dB)", "best trial", "best settings"]
    columns += ["diverged", "trials"]
    rows = []
    for task, members in by_task(results).items():
        ordered = sorted(ranked(log_rows(members)).items(), key=lambda item: -item[1][0].psnr)
        rows += [_row(model, task, found) for model, found in ordered]
    signals = sorted({result.data_name for result in results})
    steps = sorted({int(result.configuration["steps"]) for result in results})
    title = f"Restoration by equal trials, {'/'.join(map(str, steps))} steps on {', '.join(signals)}"
    return Table(title, columns, rows)


def by_task(results: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    """The results of each task that has any."""
    groups = {task: [result for result in results if result.configuration["task"] == task] for task in TASKS}
    return {task: members for task, members in groups.items() if members}


def _row(model: str, task: str, found: Sequence[Trial]) -> list[str]:
    return [
        model,
        task,
        *summary(found),
        in_code(found[0].variant),
        str(sum(trial.diverged > 0 for trial in found)),
        str(len(found)),
    ]


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """A log as CSV and the trials as PNG for each task, and the table as Markdown, from the results alone."""
    written = [write_tables(NAME, results, [table(results)], folder)]
    for task, members in by_task(results).items():
        written.append(write_log(folder / f"{NAME}-{task}.csv", log_rows(members)))
        figure = trials_figure(members, "PSNR against the clean image (dB)")
        written.append(save_figure(figure, folder / f"{NAME}-{task}.png"))
    return written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_source_arguments(parser, recordings=False)
    parser.add_argument("--task", nargs="+", default=list(TASKS), choices=TASKS)
    add_models(parser, MODELS)
    parser.add_argument("--trials", type=int, default=8, metavar="N", help="of each network, default plan included")
    parser.add_argument("--steps", type=count, default=300, metavar="N", help="steps of each fit")
    add_seeds(parser)
    parser.add_argument("--design", type=int, default=0, metavar="N", help="seed of the trials' places in the space")


def sweep(arguments: argparse.Namespace) -> tuple[RestorationSearch, list[RestorationTrial]]:
    """The experiment and its configurations from the options, network by network."""
    sources = chosen_sources(arguments)
    runs = []
    for task, model in itertools.product(arguments.task, arguments.models):
        tried = trials(task, model, arguments.trials, seed=arguments.design)
        runs += [
            RestorationTrial(task, signal, variant, place, arguments.steps, seed)
            for (place, variant), signal, seed in itertools.product(enumerate(tried), sources, arguments.seeds)
        ]
    return RestorationSearch(sources), runs
