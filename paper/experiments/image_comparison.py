"""Several networks on several images with several seeds, the same budget each: who ends where, and how fast.

Run it from Python, or as `python -m paper image-comparison --images DIR --models staf siren`.

    sweep = run_experiment(ImageComparison({"kodim03": "kodim03.npy"}), configurations(...), "results")
    print(table(sweep.results).to_text())
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper.data.images import image_data, named_paths, open_image
from paper.measures.perceptual import perceptual_distance, predicted_image
from paper.report.output import save_figure, write_tables
from paper.report.training_curves import curves_figure
from paper.runner.experiment import Context, Data, Outcome, outcome_of
from paper.runner.options import add_models, add_seeds, count
from paper.runner.result import RunResult
from staf._tables import Table
from staf.comparison.networks import PROTOCOL
from staf.comparison.table import NetworkRow, network_table

NAME = "image-comparison"
DATA = "images"
QUICK = {"steps": 3, "models": ["staf", "siren"]}
DEFAULT_MODELS = ("staf", "siren", "finer")


@dataclass(frozen=True)
class ImageRun:
    """One network on one image."""

    image: str
    model: str
    seed: int = 0
    steps: int | None = None
    seconds: float | None = None
    target_db: float | None = None


@dataclass(frozen=True)
class ImageComparison:
    """The experiment; `images` maps the names in configurations to files, whose place is not part of a result."""

    images: Mapping[str, str]

    name = NAME
    version = 1
    protocol = PROTOCOL

    def label(self, configuration: ImageRun) -> str:
        return f"{configuration.image} {configuration.model} seed {configuration.seed}"

    def data(self, configuration: ImageRun) -> Data:
        return Data(configuration.image, image_data(self.images[configuration.image]).sha256)

    def run(self, configuration: ImageRun, context: Context) -> Outcome:
        from staf.planning import Budget, plan

        image = open_image(self.images[configuration.image])
        budget = Budget(configuration.steps, configuration.seconds, configuration.target_db)
        chosen = plan(image, budget, device=context.device.split(":")[0], model=configuration.model)
        fit = context.fit(image, plan=chosen, seed=configuration.seed)
        target = context.share(f"image-{self.data(configuration).sha256[:12]}", {"target": image.array})
        details: dict[str, Any] = {"reasons": list(chosen.reasons.values()), "value_range": list(image.value_range)}
        arrays = {"reconstruction": fit.reconstruction.array}
        outcome = outcome_of(fit, points=fit.task.points, details=details, arrays=arrays, shared=(target,))
        seen = perceptual_distance(*predicted_image(fit))
        return dataclasses.replace(outcome, metrics={**outcome.metrics, **seen})


def configurations(
    images: Sequence[str], models: Sequence[str], seeds: Sequence[int] = (0,), **budget: Any
) -> list[ImageRun]:
    """Every network on every image with every seed; `budget` is steps, seconds, target_db.

    >>> len(configurations(["a", "b"], ["staf", "siren"], [0, 1], steps=10))
    8
    """
    products = itertools.product(images, models, seeds)
    return [ImageRun(image, model, seed, **budget) for image, model, seed in products]


def table(results: Sequence[RunResult]) -> Table:
    """A row per network, best mean first: PSNR of each image (mean over seeds), their mean, steps and time."""
    rows = []
    for result in results:
        model, details = str(result.configuration["model"]), result.details
        counts = (int(details["parameters"]), int(details["steps"]), float(details["seconds"]))
        rows.append(NetworkRow(result.data_name, model, result.metrics, *counts))
    return network_table(rows)


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown and the curves as PNG, from the results alone."""
    written = write_tables(NAME, results, [table(results)], folder)
    best_first = [row[0] for row in table(results).rows]
    histories = {
        model: [result.history for result in results if result.configuration["model"] == model] for model in best_first
    }
    return [written, save_figure(curves_figure(histories), folder / f"{NAME}.png")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    parser.add_argument("--images", nargs="+", default=[], metavar="PATH", help="image files, .npy, or folders")
    add_models(parser, DEFAULT_MODELS)
    add_seeds(parser)
    parser.add_argument("--steps", type=count, default=None, metavar="N", help="steps of each fit")
    parser.add_argument("--seconds", type=float, default=None, metavar="S", help="seconds of each fit")


def sweep(arguments: argparse.Namespace) -> tuple[ImageComparison, list[ImageRun]]:
    """The experiment and its configurations from the options."""
    from staf.planning import Budget, plan

    images = named_paths(arguments.images)
    example = open_image(next(iter(images.values())))
    for model in arguments.models:
        plan(example, Budget(arguments.steps, arguments.seconds), model=model)
    runs = configurations(
        list(images), arguments.models, arguments.seeds, steps=arguments.steps, seconds=arguments.seconds
    )
    return ImageComparison(images), runs
