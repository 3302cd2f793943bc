"""A start for the fits of a data set, learnt from some of its signals, from which few steps lead far."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from staf.api import as_signal, choose_device
from staf.many_plans import Planner
from staf.ops.execution import Execution
from staf.planning.plans import Budget, Plan, points_of
from staf.storage.file import load_field, save_field
from staf.tasks import task_for
from staf.training import Recipe, train
from staf.training.progress import Progress, choose_mode
from staf.training.stacked import Copies
from staf.training.trainees import must_be_alone


@dataclass(frozen=True)
class CopyOf:
    """Builds a field as a copy of one, with its weights."""

    field: nn.Module

    def __call__(self, generator: torch.Generator) -> nn.Module:
        return copy.deepcopy(self.field)


def learn_start(
    sources: Iterable[Any],
    *,
    plan: Plan | None = None,
    model: str | None = None,
    steps: int = 25,
    rounds: int = 100,
    at_once: int = 16,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool | None = None,
) -> Plan:
    """A plan whose network starts from weights that are learnt from `sources`, for fits of `steps` steps (Reptile).

    In each of `rounds` rounds, `at_once` signals are fitted from the present start theta with the plan's own optimiser
    and `steps` steps, and the start moves towards the mean of their weights phi_i:

        theta <- theta + epsilon_r (mean_i phi_i - theta),   epsilon_r = 1 - r / rounds.

    Signals are visited in epochs of shuffled order, and must have the same size. Fit others with the plan that is
    returned, `fit_many(others, plan=start)`, and measure on signals that were not in `sources`.

    >>> import numpy as np
    >>> pictures = [np.full((4, 4), value, dtype=np.uint8) for value in (150, 200, 250)]
    >>> start = learn_start(pictures, steps=3, rounds=2, at_once=2, progress=False)
    >>> start.recipe.steps, start.reasons["start"]
    (3, 'learnt from 3 signals in 2 rounds of 2 fits with 3 steps')
    """
    for name, value in (("steps", steps), ("rounds", rounds), ("at_once", at_once)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    signals = [as_signal(source) for source in sources]
    if not signals:
        raise ValueError("sources must have at least one signal, got none")
    if len({points_of(signal) for signal in signals}) > 1:
        raise ValueError("sources must be signals of one size")
    job = Planner(None, plan, model, "size", Budget(steps), seed).job("start", signals[0])
    recipe, field = job.recipe.replace(steps=steps, seconds=None, target_db=None), job.plan.field(seed)
    if must_be_alone(field):
        raise ValueError(f"a start is for networks that train together, got {type(field).__name__}")
    chosen, order = choose_device(device), torch.Generator().manual_seed(seed)
    waiting: list[int] = []
    with Progress(rounds, None, choose_mode(progress), title="start", counted="round") as bar:
        for number in range(rounds):
            while len(waiting) < at_once:
                waiting += torch.randperm(len(signals), generator=order).tolist()
            tasks = [task_for(signals[i], recipe.convention) for i in waiting[:at_once]]
            del waiting[:at_once]
            fields = Copies(copy.deepcopy(field), at_once)
            results = train(tasks, fields, recipe, seed=seed, execution=Execution(device=chosen), progress=False)
            _move(field, list(fields), 1.0 - number / rounds)
            psnr = sum(result.metrics["psnr"] for result in results) / at_once
            bar.update(number + 1, 10 ** (-psnr / 10), psnr, float(number + 1), (number + 1) / rounds)
    said = f"learnt from {len(signals)} signals in {rounds} rounds of {at_once} fits with {steps} steps"
    return Plan(CopyOf(field), recipe, {**job.plan.reasons, "start": said}, "learnt start")


def _move(field: nn.Module, fitted: list[nn.Module], share: float) -> None:
    """Move the tensors of a field by a share of the way to the mean of those of the fitted ones."""
    states = [one.state_dict() for one in fitted]
    with torch.no_grad():
        for name, tensor in field.state_dict().items():
            if tensor.is_floating_point() or tensor.is_complex():
                mean = torch.stack([state[name].to(tensor.device) for state in states]).mean(0)
                tensor.lerp_(mean, share)


def save_start(start: Plan, path: str | os.PathLike[str]) -> Path:
    """Write a learnt start as one safetensors file, which `load_start` reads."""
    save_field(path, start.field(), {"recipe": start.recipe.to_plain(), "notes": [start.reasons.get("start", "")]})
    return Path(path)


def load_start(path: str | os.PathLike[str]) -> Plan:
    """The plan of a file that `save_start` wrote: its weights and its recipe."""
    field, metadata = load_field(path)
    recipe = metadata.get("recipe")
    if not isinstance(recipe, dict):
        raise ValueError(f"{path} has no recipe: it is not a start that save_start wrote")
    notes = metadata.get("notes") or ["of a file"]
    return Plan(CopyOf(field), Recipe.from_plain(recipe), {"start": str(notes[0])}, "learnt start")
