"""A start for the fits of a data set, learnt from some of its signals, from which few steps lead far."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from staf.api import as_signal, choose_device
from staf.many.plans import Planner
from staf.many.reptile import Reptile
from staf.ops.execution import Execution
from staf.planning.plans import Budget, Plan, points_of
from staf.storage.file import build_empty, compare_shapes, read_tensors, write
from staf.storage.header import FileError, read_header
from staf.tasks import task_for
from staf.training import Recipe
from staf.training.optim.learnt import LearntRates
from staf.training.precision import at_step
from staf.training.progress import Progress, choose_mode
from staf.training.schedules import Constant
from staf.training.stacked import StackedTask
from staf.training.task import Batch, Task
from staf.training.trainees import must_be_alone

# Rates begin here, for losses that are means of squared errors of values in [0, 1].
FIRST_RATE = 1e-2
# Adam's rates for the start and for the rates, and the largest norm of a gradient of the start.
START_RATE, RATE_RATE, LARGEST_NORM = 1e-3, 3e-4, 1.0
WEIGHTS, RATES = "start/", "rates/"

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class CopyOf:
    """Builds a field as a copy of one, with its weights and its learnt rates."""

    field: nn.Module

    def __call__(self, generator: torch.Generator) -> nn.Module:
        return copy.deepcopy(self.field)


def learn_start(
    sources: Iterable[Any],
    *,
    plan: Plan | None = None,
    model: str | None = None,
    recipe: Recipe | None = None,
    steps: int = 5,
    rounds: int = 500,
    at_once: int = 4,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool | None = None,
) -> Plan:
    """Learn starting weights from signals, for fits of few steps; returns a plan that uses them.

    Without `recipe`, a learning rate for each parameter is learnt as well (Meta-SGD), for very few steps. From a start
    theta, signal i is fitted by gradient descent,

        phi_0 = theta,   phi_{k+1} = phi_k - r * grad L_i(phi_k),

    with learnt rates r. Each of `rounds` rounds moves theta and r along the gradient of the mean of L_i(phi_steps) over
    `at_once` signals, through all steps (MAML with learnt rates; Adam with a cosine schedule). Memory grows with
    `steps` and `at_once`.

    With `recipe` (Reptile), signals are fitted with `steps` steps of the recipe, and each round moves theta towards the
    mean of `at_once` fits, by a fraction that falls linearly from one to zero. Use it for some tens of steps; on a GPU,
    start with a recipe of Muon, 25 steps, 64 fits at once and 30 rounds.

    Signals are visited in shuffled epochs and must have the same size. Fit other signals with the returned plan,
    `fit_many(others, plan=start)`, and measure on signals that were not in `sources`.

    >>> import numpy as np
    >>> pictures = [np.full((4, 4), value, dtype=np.uint8) for value in (150, 200, 250)]
    >>> start = learn_start(pictures, steps=3, rounds=2, at_once=2, progress=False)
    >>> start.recipe.steps, start.recipe.optimiser, start.reasons["start"]
    (3, 'learnt', 'learnt from 3 signals in 2 rounds of 2 fits with 3 steps')
    """
    for name, value in (("steps", steps), ("rounds", rounds), ("at_once", at_once)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    signals = [as_signal(source) for source in sources]
    if not signals:
        raise ValueError("sources must have at least one signal, got none")
    if len({points_of(signal) for signal in signals}) > 1:
        raise ValueError("sources must be signals of one size")
    job = Planner(recipe, plan, model, "size", Budget(steps), seed).job("start", signals[0])
    chosen, order = choose_device(device), torch.Generator().manual_seed(seed)
    field = job.plan.field(seed).to(chosen)
    if must_be_alone(field):
        raise ValueError(f"a start is for networks that train together, got {type(field).__name__}")
    tasks = [task_for(signal, job.recipe.convention).to(chosen) for signal in signals]
    waiting, began = list[int](), time.monotonic()
    execution = Execution(precision=at_step(job.recipe.precision, 1.0))
    learning: _Learning | Reptile = _Learning(field, steps)
    if recipe is not None:
        learning = Reptile(field, [tasks[i % len(tasks)] for i in range(at_once)], job.recipe, seed)
    with Progress(rounds, None, choose_mode(progress), title="start", counted="round") as bar, execution.active():
        for number in range(rounds):
            while len(waiting) < at_once:
                waiting += torch.randperm(len(signals), generator=order).tolist()
            some = [tasks[i] for i in waiting[:at_once]]
            del waiting[:at_once]
            loss = learning.round(some, number / rounds)
            psnr = -10 * math.log10(max(loss, 1e-12))
            bar.update(number + 1, loss, psnr, time.monotonic() - began, (number + 1) / rounds)
    own = job.recipe
    if recipe is None:
        own = Recipe(steps=steps, optimiser="learnt", rate=1.0, schedule=Constant(), convention=own.convention)
    said = f"learnt from {len(signals)} signals in {rounds} rounds of {at_once} fits with {steps} steps"
    reasons = {**job.plan.reasons, "start": said}
    return Plan(CopyOf(learning.field(field).to("cpu")), own, reasons, "learnt start")


class _Learning:
    """A start and its rates, and the Adam that moves both."""

    def __init__(self, field: nn.Module, steps: int) -> None:
        self._module, self._steps = field, steps
        self._fixed = dict(field.named_buffers())
        self.start = {name: p.detach().clone().requires_grad_() for name, p in field.named_parameters()}
        self.rates = {
            name: torch.full(p.shape, FIRST_RATE, device=p.device, requires_grad=True) for name, p in self.start.items()
        }
        groups = ((self.start, START_RATE), (self.rates, RATE_RATE))
        self._adam = torch.optim.Adam([{"params": list(part.values()), "lr": rate} for part, rate in groups])

    def round(self, tasks: Sequence[Task], done: float) -> float:
        """Fit some signals from the start and move the start and the rates; the mean loss after the fits.

        `done` is the fraction of the rounds before this one.
        """
        multiplier = (1 + math.cos(math.pi * done)) / 2
        batch, single = StackedTask(tasks).whole(), tasks[0].loss

        def one(tensors: Tensors, *parts: Tensor) -> Tensor:
            bound = lambda x: torch.func.functional_call(self._module, {**tensors, **self._fixed}, (x,))  # noqa: E731
            return single(bound, Batch(*parts))  # type: ignore[arg-type]

        losses = torch.vmap(one)
        fitted = {name: tensor.expand(len(tasks), *tensor.shape) for name, tensor in self.start.items()}
        for _ in range(self._steps):
            gradients = torch.autograd.grad(losses(fitted, *batch).sum(), list(fitted.values()), create_graph=True)
            fitted = {
                name: tensor - self.rates[name] * gradient
                for (name, tensor), gradient in zip(fitted.items(), gradients, strict=True)
            }
        loss = losses(fitted, *batch).mean()
        self._adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.start.values(), LARGEST_NORM)
        for group, rate in zip(self._adam.param_groups, (START_RATE, RATE_RATE), strict=True):
            group["lr"] = rate * multiplier
        self._adam.step()
        return float(loss.detach())

    def field(self, module: nn.Module) -> nn.Module:
        """The module with the learnt weights and rates."""
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(self.start[name])
        return _with_rates(module, {name: rate.cpu() for name, rate in self.rates.items()})


def _with_rates(field: nn.Module, rates: Tensors) -> nn.Module:
    field.learnt_rates = LearntRates(rates)  # type: ignore[assignment]
    return field


def save_start(start: Plan, path: str | os.PathLike[str]) -> Path:
    """Write a learnt start to a safetensors file, which `load_start` reads."""
    field = start.field()
    tensors = {WEIGHTS + name: tensor for name, tensor in field.state_dict().items()}
    if start.recipe.optimiser == "learnt":
        tensors |= {RATES + name: tensor for name, tensor in LearntRates.of(field).tensors.items()}
    document = {
        "kind": "start",
        "architecture": getattr(field, "architecture", None),
        "recipe": start.recipe.to_plain(),
    }
    write(path, tensors, {**document, "notes": [start.reasons.get("start", "")]})
    return Path(path)


def load_start(path: str | os.PathLike[str]) -> Plan:
    """The plan in a file that `save_start` wrote, with its weights, its recipe, and its learnt rates if it has any."""
    header = read_header(path)
    recipe, notes = header.metadata.get("recipe"), header.metadata.get("notes") or ["of a file"]
    if header.metadata.get("kind") != "start" or not isinstance(recipe, dict):
        raise FileError(f"{path} is not a start that save_start wrote")
    field = build_empty(header)
    compare_shapes(header.part(WEIGHTS), field.state_dict())
    own = Recipe.from_plain(recipe)
    has_rates = own.optimiser == "learnt"
    rates = {name: torch.empty(p.shape, device="meta") for name, p in field.named_parameters()} if has_rates else {}
    compare_shapes(header.part(RATES), rates)
    field.load_state_dict(read_tensors(header, WEIGHTS), assign=True)
    if has_rates:
        field = _with_rates(field, read_tensors(header, RATES))
    return Plan(CopyOf(field), own, {"start": str(notes[0])}, "learnt start")
