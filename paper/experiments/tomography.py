"""Computed tomography of a slice, by WIRE's and INCODE's protocols and by ours, beside the classical methods.

python -m paper tomography --images chest.png --models staf wire incode --protocols ours wire incode
"""

from __future__ import annotations

import argparse
import math
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
from paper.protocols.published import with_arguments
from paper.report.output import write_tables
from paper.report.protocol_table import protocol_table
from paper.runner.result import RunResult
from staf._tables import Table

if TYPE_CHECKING:
    from staf.planning import Plan
    from staf.tasks import InverseProblem

NAME = "tomography"
DATA = "images"
QUICK = {
    "steps": 3,
    "models": ["staf", "siren"],
    "classical": ["filtered backprojection"],
    "protocols": ["ours", "incode"],
}
CLASSICAL = ("filtered backprojection", "SART with total variation")
# Views of half a turn, by protocol; none has noise.
VIEWS = {"ours": 100, "wire": 100, "incode": 150}
# What the released programs give their own network for a slice, where that is not what they give it for an image.
OWN = {
    ("wire", "wire"): {
        "omega0": 10.0, "hidden_omega0": 10.0, "sigma0": 10.0, "width": 300, "depth": 3, "planar": True,
    },
}  # fmt: skip
NEEDS = "slices as grey images; WIRE's is a chest of 326 x 435 pixels"
TIME = "9 networks x 3 protocols: some ten minutes an image of 256x256 on an H200"


class Slices(InverseExperiment):
    """Parallel rays through a grey picture; under `ours` 5% of the views are held out."""

    name = NAME
    classical = CLASSICAL
    # The released programs; both train on the whole picture at every step, and report the best step by the truth.
    budgets: ClassVar[Mapping[str, Budget]] = {
        "wire": Budget(5e-3, 0.1, steps=5000),
        "incode": Budget(2e-4, 0.4, steps=2001),
    }
    protocol = (
        "parallel rays, views from 0 to 180 degrees with both ends, no noise; PSNR and SSIM of the slice, one fresh "
        "pass, clamped, peak 1, with the best step in hindsight (an oracle, what both publications report) beside it; "
        "ours: 100 views, default plan, weights by held-out views; wire: 100 views, 5,000 steps, Adam 5e-3 x "
        "0.1^(t/T); incode: 150 views, 2,001 steps, Adam 2e-4 x 0.4^(t/T); final weights, each network of the paper's "
        "size with the constants of its authors, WIRE under wire as its authors have it for a slice; cell centres"
    )

    def plan_of(self, task: InverseProblem, configuration: InverseRun, device: str) -> Plan:
        chosen = super().plan_of(task, configuration, device)
        own = OWN.get((configuration.protocol, configuration.model), {})
        return with_arguments(chosen, **own) if own else chosen

    def task_of(self, image: Any, configuration: InverseRun) -> InverseProblem:
        import torch

        from staf.kinds import Image
        from staf.operators import parallel_beam
        from staf.tasks.tomography import Tomography

        values = image.values()
        grey = values[:, : min(3, values.shape[1])].mean(-1).reshape(image.shape)
        truth = Image((grey.clamp(0, 1) * 255).round().byte().numpy(), name=image.name)
        angles = torch.linspace(0, math.pi, VIEWS[configuration.protocol], dtype=torch.float64)
        generator = torch.Generator().manual_seed(configuration.seed)
        held_out = 0.05 if configuration.protocol == "ours" else 0.0
        operator = parallel_beam((truth.shape[0], truth.shape[1]), angles)
        return Tomography.simulated(truth, operator, held_out=held_out, generator=generator)


def table(results: Sequence[RunResult]) -> Table:
    """A row for each network and protocol."""
    return protocol_table("Computed tomography of a slice, peak 1", results, MEASURES, {})


def draw(results: Sequence[RunResult], folder: Path) -> list[Path]:
    """The table as Markdown, from the results alone."""
    return [write_tables(NAME, results, [table(results)], folder)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own options."""
    add_restoration_arguments(parser, CLASSICAL, tuple(VIEWS), tuple(VIEWS))


def sweep(arguments: argparse.Namespace) -> tuple[InverseExperiment, list[InverseRun]]:
    """The experiment and its configurations from the options."""
    return inverse_sweep(arguments, Slices)
