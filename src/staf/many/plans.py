"""Which network and recipe each of many signals gets, and which of them can train together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal, get_args

import torch
from torch import nn

from staf._documents import Document
from staf.planning.plans import Budget, Plan, points_of
from staf.planning.plans import plan as make_plan
from staf.signals.base import Signal
from staf.training import Recipe
from staf.training.trainees import must_be_alone

PlanBy = Literal["size", "spectrum"]
Named = tuple[str, Signal]
# By size, signals with fewer than this times the points of the smallest share its plan: mixed sizes train together.
SIZES = 2.0


@dataclass(frozen=True)
class Job:
    """A signal and how it is fitted. Jobs with equal keys have equal networks, recipes and losses.

    `architecture` is that of the field's file, if it is known before the training; `start` is a
    hash of the weights that training starts from.
    """

    name: str
    signal: Signal
    plan: Plan
    recipe: Recipe
    architecture: Document | None
    alone: bool
    start: str
    key: Hashable


class Planner:
    """Makes the jobs of one call of `fit_many`."""

    def __init__(
        self, recipe: Recipe | None, plan: Plan | None, model: str | None, plan_by: PlanBy, budget: Budget, seed: int
    ) -> None:
        if plan_by not in get_args(PlanBy):
            raise ValueError(f"plan_by must be one of {', '.join(get_args(PlanBy))}, got {plan_by!r}")
        if plan is not None and model is not None:
            raise ValueError(f"give plan or model, not both (got model={model!r})")
        if plan is not None and plan_by != "size":
            raise ValueError(f"give plan or plan_by, not both (got plan_by={plan_by!r})")
        self._recipe, self._plan, self._model, self._by = recipe, plan, model or "staf", plan_by
        self._budget, self._seed = budget, seed
        self._by_shape: dict[Hashable, Callable[[str, Signal], Job]] = {}

    def job(self, name: str, signal: Signal) -> Job:
        """The job of one signal, which depends on no other signal: by size, all of one shape have one plan."""
        if self._by == "spectrum":
            return self._network(signal)(name, signal)
        shape = _kind(signal) if self._plan is not None else (_kind(signal), tuple(signal.shape))
        if shape not in self._by_shape:
            self._by_shape[shape] = self._network(signal)
        return self._by_shape[shape](name, signal)

    def jobs(self, named: Sequence[Named]) -> list[Job]:
        """Plan the signals, in the order given."""
        jobs: dict[str, Job] = {}
        for group in self._alike(named):
            made = self._network(group[0][1])
            for name, signal in group:
                jobs[name] = made(name, signal)
        return [jobs[name] for name, _ in named]

    def _alike(self, named: Sequence[Named]) -> list[list[Named]]:
        """Signals that share a plan, the smallest first."""
        if self._by == "spectrum":
            return [[item] for item in named]
        groups: list[list[Named]] = []
        for item in sorted(named, key=lambda item: (_kind(item[1]), points_of(item[1]))):
            first = groups[-1][0][1] if groups else None
            alike = first is not None and _kind(first) == _kind(item[1])
            if alike and (self._plan is not None or points_of(item[1]) < SIZES * points_of(first)):
                groups[-1].append(item)
            else:
                groups.append([item])
        return groups

    def _network(self, signal: Signal) -> Callable[[str, Signal], Job]:
        """What makes jobs with the plan of one signal."""
        seen, limits = signal if self._by == "spectrum" else of_its_size(signal), self._budget
        # For a GPU, because networks that train together take full batches on every device.
        plan = self._plan or make_plan(seen, limits, device="cuda", model=self._model)
        recipe = (self._recipe or plan.recipe).limited(
            steps=limits.steps, seconds=limits.seconds, target_db=limits.target_db
        )
        field = plan.field(self._seed)
        architecture = getattr(field, "architecture", None)
        network = id(plan) if architecture is None else json.dumps(architecture, sort_keys=True)
        # A network that is saved in another form is known by its file only.
        as_saved = None if hasattr(field, "baked") else architecture
        alone, start = must_be_alone(field), _hash_of(field)
        return lambda name, signal: Job(
            name, signal, plan, recipe, as_saved, alone, start, (_kind(signal), network, recipe)
        )


def _hash_of(field: nn.Module) -> str:
    """A hash of a field's tensors, and of the rates that a learnt start brings along."""
    content = hashlib.sha256()
    learnt = getattr(field, "learnt_rates", None)
    rates = {} if learnt is None else {f"rate of {name}": tensor for name, tensor in learnt.tensors.items()}
    for name, tensor in {**field.state_dict(), **rates}.items():
        plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        content.update(name.encode() + plain.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return content.hexdigest()


def _kind(signal: Signal) -> tuple[str, int, int]:
    """Signals whose losses are the same function of networks with the same inputs and outputs."""
    return type(signal).__qualname__, signal.in_features, signal.out_features


def of_its_size(signal: Signal) -> SimpleNamespace:
    """What a plan by size sees of a signal: all but its samples."""
    names = ("kind", "in_features", "out_features", "shape", "samples", "rate", "seconds")
    return SimpleNamespace(**{name: getattr(signal, name) for name in names if hasattr(signal, name)})
