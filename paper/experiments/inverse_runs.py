"""What the experiments of inverse problems share: a network or a classical method on one picture, by a protocol."""

from __future__ import annotations

import abc
import argparse
import dataclasses
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from paper.data.images import image_data, named_paths, open_image
from paper.experiments.restored import by_method, by_network
from paper.runner.experiment import Context, Data, Outcome

if TYPE_CHECKING:
    from staf.planning import Plan
    from staf.tasks import InverseProblem

MEASURES = {
    "psnr": ("PSNR (dB)", 2),
    "ssim": ("SSIM", 4),
    "lpips": ("LPIPS", 4),
    "oracle_psnr": ("best step in hindsight (dB)", 2),
}


@dataclass(frozen=True)
class Budget:
    """How a publication trains: steps of everything or epochs of batches, Adam's rate, and what it falls to."""

    rate: float
    falls_to: float
    steps: int | None = None
    epochs: int | None = None
    batch: int | None = None


@dataclass(frozen=True)
class InverseRun:
    """One network, or a classical method, on one picture; the seed draws what is seen and held out too."""

    image: str
    model: str
    protocol: str = "ours"
    seed: int = 0
    steps: int | None = None
    planned_for: str | None = None


@dataclass(frozen=True)
class InverseExperiment(abc.ABC):
    """The experiment; `images` maps the names in configurations to files. A subclass says what is observed."""

    images: Mapping[str, str]

    name: ClassVar[str]
    protocol: ClassVar[str]
    version: ClassVar[int] = 1
    classical: ClassVar[tuple[str, ...]]
    budgets: ClassVar[Mapping[str, Budget]]

    @abc.abstractmethod
    def task_of(self, image: Any, configuration: InverseRun) -> InverseProblem:
        """The task of a run."""

    def label(self, configuration: InverseRun) -> str:
        c = configuration
        return f"{c.image} {c.model} {c.protocol} seed {c.seed}"

    def data(self, configuration: InverseRun) -> Data:
        return Data(configuration.image, image_data(self.images[configuration.image]).sha256)

    def run(self, configuration: InverseRun, context: Context) -> Outcome:
        from staf.tasks.inverse_classical import inverse_candidates

        c = configuration
        task = self.task_of(open_image(self.images[c.image]), c)
        if c.model in self.classical:
            began = time.monotonic()
            values = inverse_candidates(task, [c.model])[c.model].values
            return by_method(task, values, time.monotonic() - began)
        plan = self.plan_of(task, c, c.planned_for or context.device.split(":")[0])
        # Published protocols keep the last weights, and report the best step by the truth; ours stop by what is held
        # out.
        return by_network(task, plan, c, context, held_out=c.protocol == "ours")

    def plan_of(self, task: InverseProblem, configuration: InverseRun, device: str) -> Plan:
        """The default plan, or the network of its own authors with a publication's budget, rate and schedule."""
        from staf.planning import Budget as PlanBudget
        from staf.planning import plan, plans
        from staf.training.schedules import Exponential

        c = configuration
        if c.protocol == "ours":
            return plan(task, PlanBudget(steps=c.steps), device=device, model=c.model)
        own = self.budgets[c.protocol]
        chosen = plans.preset(task, "paper_image", model=c.model)
        recipe = chosen.recipe.replace(
            steps=own.steps,
            epochs=own.epochs,
            batch=own.batch,
            rate=own.rate,
            schedule=Exponential(own.falls_to),
            convention="centres",
        )
        return dataclasses.replace(chosen, recipe=recipe)


def inverse_sweep(
    arguments: argparse.Namespace, experiment: type[InverseExperiment]
) -> tuple[InverseExperiment, list[InverseRun]]:
    """The experiment and its configurations; a classical method runs once for each protocol, whose data differ."""
    images = named_paths(arguments.images)
    rows = itertools.product(images, [*arguments.models, *arguments.classical], arguments.protocols, arguments.seeds)
    runs = [
        InverseRun(image, model, protocol, seed, arguments.steps, arguments.planned_for)
        for image, model, protocol, seed in rows
    ]
    return experiment(images), runs
