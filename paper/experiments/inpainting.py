"""Inpainting of a fifth of the pixels, by INCODE's protocol and by ours, beside biharmonic and total variation.

python -m paper inpainting --images DIR --models staf incode --protocols ours incode
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from paper.experiments.inverse_runs import (
    MEASURES,
    Budget,
    InverseExperiment,
    InverseRun,
    inverse_sweep,
)
from paper.experiments.restored import add_restoration_arguments
from paper.report.output import write_tables
from paper.report.protocol_table import protocol_table
from paper.runner.result import RunResult
from staf._tables import Table

if TYPE_CHECKING:
    from staf.tasks import InverseProblem

NAME = "inpainting"
DATA = "images"
QUICK = {"steps": 3, "models": ["staf", "siren"], "classical": ["biharmonic"], "protocols": ["ours", "incode"]}
CLASSICAL = ("biharmonic", "total variation")
PROTOCOLS = ("ours", "incode")
KEPT = 0.2
NEEDS = "images, of which a fifth of the pixels is kept"
TIME = "9 networks x 2 protocols: some minutes an image of 256x256 on an H200"


class Inpainting(InverseExperiment):
    """A random fifth of the pixels; under `ours` 5% of those are held out, and the weights kept that predict them."""

    name = NAME
    classical = CLASSICAL
    # The released notebook: 501 epochs of 8,192 pixels.
    budgets: ClassVar[Mapping[str, Budget]] = {"incode": Budget(1.5e-4, 0.25, epochs=501, batch=8192)}
    protocol = (
        "20% of the pixels, at random; PSNR and SSIM over all pixels, one fresh pass, clamped, peak 1, with the best "
        "step in hindsight (an oracle) beside it; ours: default plan, weights by held-out pixels; incode: 501 epochs "
        "of 8,192 pixels, Adam 1.5e-4 x 0.25^(t/T), final weights, no pixel held out, each network with the constants "
        "of its authors; cell centres"
    )

    def task_of(self, image: Any, configuration: InverseRun) -> InverseProblem:
        import torch

        from staf.tasks.picture_restoration import PictureRestoration, picture_operator, random_mask

        generator = torch.Generator().manual_seed(configuration.seed)
        operator = picture_operator(image.shape, mask=random_mask(image.shape, KEPT, generator))
        held_out = 0.05 if configuration.protocol == "ours" else 0.0
        return PictureRestoration.simulated(image, operator, held_out=held_out, generator=generator)


def table(results: Sequence[RunResult]) -> Table:
    """A row for each network and protocol."""
    return protocol_table("Inpainting of 20% of the pixels, peak 1", results, MEASURES, {})


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown, from the results alone."""
    return [write_tables(NAME, results, [table(results)], folder)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_restoration_arguments(parser, CLASSICAL, PROTOCOLS, PROTOCOLS)


def sweep(arguments: argparse.Namespace) -> tuple[InverseExperiment, list[InverseRun]]:
    """The experiment and its configurations from the options."""
    return inverse_sweep(arguments, Inpainting)
