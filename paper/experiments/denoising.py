"""Denoising with every network, by the paper's protocol and by ours, beside total variation and non-local means.

python -m paper denoising --images DIR --models staf siren --readout 2
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
from paper.protocols.published import PROTOCOLS, paper_plan, with_arguments
from paper.report.protocol_table import protocol_table
from paper.report.restored_images import draw_restored, restored_arrays
from paper.runner.experiment import Context, Data, Outcome
from paper.runner.options import count
from paper.runner.result import RunResult
from staf._tables import Table

if TYPE_CHECKING:
    from staf.planning import Plan
    from staf.tasks import Denoising as Task

NAME = "denoising"
DATA = "images"
QUICK = {"steps": 3, "models": ["staf", "siren"]}
CLASSICAL = ("total variation", "non-local means")
MEASURES = {
    "psnr": ("PSNR (dB)", 2),
    "ssim": ("SSIM", 4),
    "lpips": ("LPIPS", 4),
    "chroma_psnr": ("colour (dB)", 2),
    "oracle_psnr": ("best step in hindsight (dB)", 2),
}
NEEDS = "clean images, to which noise is added"
TIME = "9 networks x 2 protocols: 3 min an image of 256x256 on an H200"
# The released code adds readout noise of so many photons; the paper's text has none.
RELEASED_READOUT = 2.0
# The paper's text; its released code takes the best epoch by the clean image, which is the oracle's column.
PUBLISHED = {"staf": {"oracle_psnr": 24.19}}


@dataclass(frozen=True)
class DenoisingRun:
    """One network, or a classical method, on one noisy image; the seed draws the noise too."""

    image: str
    model: str
    protocol: str = "ours"
    photons: float = 10.0
    readout: float = 0.0
    terms: int | None = None
    held_out: float = 0.05
    seed: int = 0
    steps: int | None = None
    planned_for: str | None = None


@dataclass(frozen=True)
class Denoising:
    """The experiment; `images` maps the names in configurations to files."""

    images: Mapping[str, str]

    name = NAME
    version = 3
    protocol = (
        "photon noise by mean count, readout noise; PSNR and SSIM of the weights that held-out pixels chose, one fresh "
        "pass, clamped, peak 1, with the best step in hindsight (an oracle) beside it; ours: default plan; paper and "
        "released: 501 epochs, Adam, samples at the ends, each network with the constants, rate and batch of its "
        "authors; released adds readout noise of 2 photons unless another is configured; classical strengths by "
        "held-out pixels"
    )

    def label(self, configuration: DenoisingRun) -> str:
        c = configuration
        terms = "" if c.terms is None else f" {c.terms} terms"
        return f"{c.image} {c.photons:g} photons readout {c.readout:g} {c.model}{terms} {c.protocol} seed {c.seed}"

    def data(self, configuration: DenoisingRun) -> Data:
        return Data(configuration.image, image_data(self.images[configuration.image]).sha256)

    def run(self, configuration: DenoisingRun, context: Context) -> Outcome:
        from staf.tasks.classical import denoised, oracle_denoised

        c = configuration
        task = task_of(open_image(self.images[c.image]), c)
        seen = f"seen-{self.data(c).sha256[:12]}-{c.photons:g}-{c.readout:g}-{c.seed}"
        shared = (context.share(seen, restored_arrays(task)),)
        if c.model in CLASSICAL:
            began = time.monotonic()
            values = denoised(task, [c.model])[c.model]
            seconds = time.monotonic() - began
            return by_method(task, values, seconds, best=oracle_denoised(task, [c.model])[c.model], shared=shared)
        plan = plan_of(task, c, c.planned_for or context.device.split(":")[0])
        return by_network(task, plan, c, context, held_out=True, shared=shared)


def task_of(image: Any, configuration: DenoisingRun) -> Task:
    """The task of a run; one seed gives every network the same noise and the same held-out pixels."""
    import torch

    from staf.operators import PhotonNoise
    from staf.tasks import Denoising as Task

    convention: Any = "centres" if configuration.protocol == "ours" else "ends"
    noise = PhotonNoise(configuration.photons, configuration.readout)
    generator = torch.Generator().manual_seed(configuration.seed)
    return Task.simulated(image, noise, generator=generator, held_out=configuration.held_out, convention=convention)


def plan_of(task: Task, configuration: DenoisingRun, device: str) -> Plan:
    """The plan of a run's network under its protocol."""
    from staf.planning import Budget
    from staf.planning.restoration import denoising

    if configuration.protocol == "ours":
        chosen = denoising(task, Budget(steps=configuration.steps), device=device, model=configuration.model)
    else:
        chosen = paper_plan(task, configuration.model, "denoising", released=configuration.protocol == "released")
    return chosen if configuration.terms is None else with_arguments(chosen, terms=configuration.terms)


def readout_of(protocol: str) -> float:
    """The readout noise of a protocol, in photons."""
    return RELEASED_READOUT if protocol == "released" else 0.0


def table(results: Sequence[RunResult]) -> Table:
    """A row for each network and protocol."""
    return protocol_table("Denoising, weights by held-out pixels, peak 1", results, MEASURES, PUBLISHED)


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown and the pictures of the first image as PNG, from the results alone."""
    return draw_restored(NAME, table(results), results, folder)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_restoration_arguments(parser, CLASSICAL, PROTOCOLS, ("ours", "paper"))
    parser.add_argument("--photons", type=float, default=10.0, metavar="X", help="mean count at value 1")
    parser.add_argument(
        "--readout", type=float, default=None, metavar="X", help="readout noise in photons (default: 0, released 2)"
    )
    parser.add_argument("--terms", nargs="*", type=count, default=[], metavar="N", help="STAF with other terms as well")


def sweep(arguments: argparse.Namespace) -> tuple[Denoising, list[DenoisingRun]]:
    """The experiment and its configurations from the options; the classical methods are included by default."""
    images = named_paths(arguments.images)
    photons, readout = arguments.photons, arguments.readout
    rows: list[tuple[str, int | None]] = [(model, None) for model in arguments.models]
    rows += [("staf", terms) for terms in arguments.terms]
    products = itertools.product(images, rows, arguments.protocols, arguments.seeds)
    runs = [
        DenoisingRun(
            image,
            model,
            protocol,
            photons,
            readout_of(protocol) if readout is None else readout,
            terms,
            seed=seed,
            steps=arguments.steps,
            planned_for=arguments.planned_for,
        )
        for image, (model, terms), protocol, seed in products
    ]
    methods = itertools.product(images, arguments.classical, arguments.seeds)
    runs += [DenoisingRun(image, method, "ours", photons, readout or 0.0, seed=seed) for image, method, seed in methods]
    example = task_of(open_image(next(iter(images.values()))), DenoisingRun("", "", photons=photons))
    for model in arguments.models:
        plan_of(example, DenoisingRun("", model), arguments.planned_for or "cpu")
    return Denoising(images), runs
