"""Super-resolution with every network, by the paper's protocol and by ours, beside bicubic and Lanczos.

python -m paper super-resolution --images DIR --models staf incode --protocols ours paper
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.data.images import image_data, named_paths, open_image
from paper.experiments.restored import add_restoration_arguments, by_method, by_network
from paper.protocols.published import paper_plan
from paper.report.protocol_table import protocol_table
from paper.report.restored_images import draw_restored, restored_arrays
from paper.runner.experiment import Context, Data, Outcome
from paper.runner.options import count
from paper.runner.result import RunResult
from staf._tables import Table

if TYPE_CHECKING:
    from staf.planning import Plan
    from staf.tasks import SuperResolution as Task

NAME = "super-resolution"
DATA = "images"
QUICK = {"steps": 3, "models": ["staf", "siren"]}
CLASSICAL = ("bicubic", "Lanczos")
# Points a side of each observed pixel, by protocol.
SAMPLES = {"ours": 2, "points": 1, "paper": 1, "released": 1}
NEEDS = "images whose sides are divisible by 4"
TIME = "9 networks x 2 protocols: 2 min an image of 256x256 on an H200"
PUBLISHED_PROTOCOLS = ("paper", "released")
MEASURES = {
    "psnr": ("PSNR (dB)", 2),
    "ssim": ("SSIM", 4),
    "lpips": ("LPIPS", 4),
    "oracle_psnr": ("best step in hindsight (dB)", 2),
}
PUBLISHED = {
    "staf": {"psnr": 30.54, "ssim": 0.89},
    "incode": {"psnr": 29.88},
    "ffn": {"psnr": 29.41},
}


@dataclass(frozen=True)
class SuperResolutionRun:
    """One network, or a classical method, on one image."""

    image: str
    model: str
    protocol: str = "ours"
    factor: int = 4
    seed: int = 0
    steps: int | None = None
    planned_for: str | None = None


@dataclass(frozen=True)
class SuperResolution:
    """The experiment; `images` maps the names in configurations to files."""

    images: Mapping[str, str]

    name = NAME
    version = 3
    protocol = (
        "fit the area-downsampled image, measure on the full grid; PSNR and SSIM of the final weights, one fresh pass, "
        "clamped, peak 1, with the best step in hindsight (an oracle) beside it; ours: default plan, cell centres, "
        "trained through the operator by 2x2 points a pixel; points: the same by the pixel's centre; paper and "
        "released: 501 epochs of 256 pixels, Adam 1e-3, samples at the ends"
    )

    def label(self, configuration: SuperResolutionRun) -> str:
        c = configuration
        return f"{c.image} {c.factor}x {c.model} {c.protocol} seed {c.seed}"

    def data(self, configuration: SuperResolutionRun) -> Data:
        return Data(configuration.image, image_data(self.images[configuration.image]).sha256)

    def run(self, configuration: SuperResolutionRun, context: Context) -> Outcome:
        from staf.tasks.classical import upscaled

        c = configuration
        task = task_of(open_image(self.images[c.image]), c)
        shared = (context.share(f"seen-{self.data(c).sha256[:12]}-{c.factor}", restored_arrays(task)),)
        if c.model in CLASSICAL:
            began = time.monotonic()
            values = upscaled(task)[c.model]
            return by_method(task, values, time.monotonic() - began, shared=shared)
        plan = plan_of(task, c, c.planned_for or context.device.split(":")[0])
        return by_network(task, plan, c, context, held_out=False, shared=shared)


def task_of(image: Any, configuration: SuperResolutionRun) -> Task:
    """The task of a run; images whose sides the factor does not divide are cropped at the right and the bottom."""
    from staf.tasks import SuperResolution as Task

    factor = configuration.factor
    height, width = (size // factor * factor for size in image.shape)
    if (height, width) != image.shape:
        image = image.with_pixels(image.array[:height, :width])
    convention: Any = "ends" if configuration.protocol in PUBLISHED_PROTOCOLS else "centres"
    return Task.simulated(image, factor, samples=SAMPLES[configuration.protocol], convention=convention)


def plan_of(task: Task, configuration: SuperResolutionRun, device: str) -> Plan:
    """The plan of a run's network under its protocol."""
    from staf.planning import Budget
    from staf.planning.restoration import super_resolution

    if configuration.protocol not in PUBLISHED_PROTOCOLS:
        budget = Budget(steps=configuration.steps)
        return super_resolution(task, budget, device=device, model=configuration.model)
    return paper_plan(task, configuration.model, "super_resolution", released=configuration.protocol == "released")


def table(results: Sequence[RunResult]) -> Table:
    """A row for each network and protocol."""
    return protocol_table("Super-resolution, final weights, peak 1", results, MEASURES, PUBLISHED)


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown and the pictures of the first image as PNG, from the results alone."""
    return draw_restored(NAME, table(results), results, folder)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_restoration_arguments(parser, CLASSICAL, list(SAMPLES), ("ours", "paper"))
    parser.add_argument("--factor", type=count, default=4, metavar="N", help="of each side (default: 4)")


def sweep(arguments: argparse.Namespace) -> tuple[SuperResolution, list[SuperResolutionRun]]:
    """The experiment and its configurations from the options; bicubic and Lanczos are included by default."""
    images = named_paths(arguments.images)
    products = itertools.product(images, arguments.models, arguments.protocols, arguments.seeds)
    runs = [
        SuperResolutionRun(image, model, protocol, arguments.factor, seed, arguments.steps, arguments.planned_for)
        for image, model, protocol, seed in products
    ]
    methods = itertools.product(images, arguments.classical)
    runs += [SuperResolutionRun(image, method, factor=arguments.factor) for image, method in methods]
    example = task_of(open_image(next(iter(images.values()))), SuperResolutionRun("", "", factor=arguments.factor))
    for model in arguments.models:
        plan_of(example, SuperResolutionRun("", model), arguments.planned_for or "cpu")
    return SuperResolution(images), runs
