"""Several networks on several images with several seeds, the same budget each: who ends where, and how fast.

Run it from Python, or as `python -m staf.experiments image-comparison --images DIR --models staf siren`.

    sweep = run_experiment(ImageComparison({"kodim03": "kodim03.npy"}), configurations(...), "results")
    print(table(sweep.results).to_text())
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from staf._files import atomic_write
from staf.experiments.curves import curves_figure
from staf.experiments.experiment import Context, Data, Outcome, outcome_of
from staf.experiments.images import image_data, named_paths, open_image
from staf.experiments.result import Result
from staf.experiments.runner import draw as draw_file
from staf.experiments.tables import Table, mean, number

NAME = "image-comparison"
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
    """The experiment; `images` maps the names in configurations to files. Where a file lies is no part of a result."""

    images: Mapping[str, str]
    keep_fields: bool = False

    name = NAME
    version = 1
    protocol = (
        "each network with its default plan on the device, same budget; PSNR of the final weights, one fresh pass "
        "over all pixels, clamped, peak 1"
    )

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
        if self.keep_fields:
            details["field"] = fit.save(context.folder / f"{context.stem}.safetensors").name
        return outcome_of(fit, details=details, arrays={"reconstruction": fit.reconstruction.array}, shared=(target,))


def configurations(
    images: Sequence[str], models: Sequence[str], seeds: Sequence[int] = (0,), **budget: Any
) -> list[ImageRun]:
    """Every network on every image with every seed; `budget` is steps, seconds, target_db.

    >>> len(configurations(["a", "b"], ["staf", "siren"], [0, 1], steps=10))
    8
    """
    products = itertools.product(images, models, seeds)
    return [ImageRun(image, model, seed, **budget) for image, model, seed in products]


def table(results: Sequence[Result]) -> Table:
    """A row per network, best mean first: PSNR of each image (mean over seeds), their mean, steps and time."""
    images = list(dict.fromkeys(result.data_name for result in results))
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.configuration["model"]].append(result)

    def decibels(group: Sequence[Result], image: str) -> float:
        return mean([result.metrics["psnr"] for result in group if result.data_name == image])

    def overall(group: Sequence[Result]) -> float:
        return mean([decibels(group, image) for image in images if any(r.data_name == image for r in group)])

    several = len(images) > 1
    columns = ["model", "PSNR (dB)", *(images if several else []), "SSIM", "parameters", "steps", "seconds", "runs"]
    rows = []
    # Networks whose values are not numbers come last.
    ranked = sorted(groups.items(), key=lambda item: (math.isnan(overall(item[1])), -overall(item[1])))
    for model, group in ranked:
        ssim = mean([result.metrics["ssim"] for result in group if "ssim" in result.metrics])
        rows.append(
            [
                model,
                number(overall(group)),
                *([number(decibels(group, image)) for image in images] if several else []),
                number(ssim, 4),
                f"{group[0].details['parameters']:,}",
                f"{mean([result.details['steps'] for result in group]):.0f}",
                number(mean([result.details["seconds"] for result in group]), 1),
                str(len(group)),
            ]
        )
    several = several or any(len(group) > 1 for group in groups.values())
    title = "Same budget each, final weights" + (", mean over images and seeds" if several else "")
    return Table(title, columns, rows)


def comparison_figure(results: Sequence[Result]) -> Any:
    """The reconstructions of one image beside its target, zoomed, with error maps and curves, in the order given."""
    from staf.figures import Contender, comparison
    from staf.training import History

    images = {result.data_name for result in results}
    if len(images) != 1:
        raise ValueError(f"results must be of one image, got {', '.join(sorted(images)) or 'none'}")
    arrays = [result.arrays() for result in results]
    contenders = [
        Contender(
            str(result.configuration["model"]),
            array["reconstruction"],
            result.metrics["psnr"],
            History.from_plain(result.history),
        )
        for result, array in zip(results, arrays, strict=True)
    ]
    low, high = results[0].details["value_range"]
    return comparison(arrays[0]["target"], contenders, value_range=(float(low), float(high)))


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """The table as Markdown and the curves as PNG, from the results alone."""
    if not results:
        raise ValueError("there are no finished results to draw")
    atomic_write(folder / f"{NAME}.md", table(results).to_markdown())
    best_first = [row[0] for row in table(results).rows]
    histories = {
        model: [result.history for result in results if result.configuration["model"] == model] for model in best_first
    }
    picture = draw_file(folder / f"{NAME}.png", lambda path: curves_figure(histories).savefig(path, dpi=150))
    return [folder / f"{NAME}.md", picture]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    parser.add_argument("--images", nargs="+", default=[], metavar="PATH", help="image files, .npy, or folders")
    parser.add_argument("--models", nargs="+", default=list(DEFAULT_MODELS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N")
    parser.add_argument("--steps", type=int, default=None, metavar="N", help="steps of each fit")
    parser.add_argument("--seconds", type=float, default=None, metavar="S", help="seconds of each fit")


def sweep(arguments: argparse.Namespace) -> tuple[ImageComparison, list[ImageRun]]:
    """The experiment and its configurations from the options."""
    from staf.planning import Budget, plan

    images = named_paths(arguments.images)
    if not images:
        raise ValueError("--images must name at least one image file or folder, got none")
    example = open_image(next(iter(images.values())))
    for model in arguments.models:
        plan(example, Budget(arguments.steps, arguments.seconds), model=model)
    runs = configurations(
        list(images), arguments.models, arguments.seeds, steps=arguments.steps, seconds=arguments.seconds
    )
    return ImageComparison(images), runs
