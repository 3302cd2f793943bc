"""The input of a plan, and the result of a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Protocol

import torch
from torch import nn

from staf._documents import Document, Entries
from staf.nn.networks import NetworkSpec


@dataclass(frozen=True)
class Budget:
    """The limits of a fit: steps, seconds of training, or a PSNR to reach. The first limit reached ends the fit.

    >>> Budget(steps=0)
    Traceback (most recent call last):
    ValueError: steps must be a whole number of at least 1, got 0
    """

    steps: int | None = None
    seconds: float | None = None
    target_db: float | None = None

    def __post_init__(self) -> None:
        # NumPy's numbers count, and become Python's, which a file can hold.
        if self.steps is not None:
            if not isinstance(self.steps, Integral) or isinstance(self.steps, bool) or self.steps < 1:
                raise ValueError(f"steps must be a whole number of at least 1, got {self.steps!r}")
            object.__setattr__(self, "steps", int(self.steps))
        for name in ("seconds", "target_db"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Real):
                raise ValueError(f"{name} must be a number, got {value!r}")
            object.__setattr__(self, name, value if isinstance(value, int) else float(value))


class SignalLike(Protocol):
    """What a plan depends on: a signal or a task. Both can have `plan_rules()`, and a task has a `signal`."""

    in_features: int
    out_features: int


@dataclass(frozen=True)
class Choice:
    """What a rule decides: entries of the recipe, arguments of the network, and why.

    `start` changes the network after it is built, before the first step; a report can store it if it is a
    `functools.partial` of a method of the first layer. `spec` is a network to build instead of the model: one that is
    made of the model's layers. `network` replaces the requested network, also for all other rules; only the topic
    `capacity` uses it. A choice without a `reason` is not explained.
    """

    reason: str = ""
    recipe: Entries = field(default_factory=dict)
    arguments: Entries = field(default_factory=dict)
    start: Callable[[nn.Module], None] | None = None
    spec: NetworkSpec | None = None
    network: NetworkSpec | None = None


Rule = Callable[["Situation"], Choice]


class Situation:
    """A signal or task, a budget, a device and a network, with the rules that choose for them.

    `situation[topic]` is the choice of that topic's rule, which is made when it is first needed. So a rule can ask for
    the choices of other topics, in any order of the table.

    >>> from types import SimpleNamespace
    >>> from staf.nn.networks import NETWORKS
    >>> table = {"rate": lambda s: Choice(recipe={"rate": s["batch"].recipe["batch"] * 1e-6})}
    >>> table["batch"] = lambda s: Choice(recipe={"batch": s.points // 2})
    >>> Situation(SimpleNamespace(points=2000), Budget(), "cpu", NETWORKS["siren"], table)["rate"].recipe
    {'rate': 0.001}
    """

    def __init__(
        self,
        source: Any,
        budget: Budget,
        device: str,
        spec: NetworkSpec,
        rules: Mapping[str, Rule],
        *,
        parameters: int | None = None,
    ) -> None:
        self.source, self.budget, self.device, self.asked, self.rules = source, budget, device, spec, dict(rules)
        self._parameters = parameters
        self._choices: dict[str, Choice | None] = {}

    def __getitem__(self, topic: str) -> Choice:
        if topic not in self._choices:
            self._choices[topic] = None
            self._choices[topic] = self.rules[topic](self)
        choice = self._choices[topic]
        if choice is None:
            raise RuntimeError(f"the rules of a plan ask for each other in a circle at the topic {topic!r}")
        return choice

    @property
    def spec(self) -> NetworkSpec:
        """The network: the choice of the topic `capacity`, or the requested one."""
        chosen = self["capacity"].network if "capacity" in self.rules else None
        return self.asked if chosen is None else chosen

    @property
    def signal(self) -> Any:
        """The signal, also if the plan is for a task."""
        return getattr(self.source, "signal", self.source)

    @property
    def in_features(self) -> int:
        return int(self.source.in_features)

    @property
    def points(self) -> int:
        return points_of(self.source)

    @property
    def on_cpu(self) -> bool:
        return self.device == "cpu"

    @property
    def batch(self) -> int | None:
        """The points of one step, or None for all; from the topic `batch`."""
        return self["batch"].recipe["batch"]

    @property
    def steps(self) -> int | None:
        """The steps of the fit, or None if only time limits it; from the topic `budget`."""
        return self["budget"].recipe["steps"]

    @property
    def arguments(self) -> Document:
        """The network's arguments that differ from its defaults, chosen by all topics in the order of the table."""
        return self.arguments_without()

    def parameters(self, *asking: str) -> int:
        """The number of parameters of the network with the choices of all topics except those in `asking`.

        For a network of the user's own, the number is given.
        """
        if self._parameters is not None:
            return self._parameters
        others = [self[topic].spec for topic in self.rules if topic not in asking]
        spec = next((own for own in others if own is not None), self.spec)
        with torch.device("meta"):
            field = spec.factory(self.in_features, int(self.source.out_features), **self.arguments_without(*asking))
        return sum(parameter.numel() for parameter in field.parameters())

    def arguments_without(self, *asking: str) -> Document:
        """The arguments without the choices of some topics, whose rules call this."""
        topics = [topic for topic in self.rules if topic not in asking]
        return {name: value for topic in topics for name, value in self[topic].arguments.items()}


def points_of(signal: Any) -> int:
    """How many samples a signal or task has.

    >>> from types import SimpleNamespace
    >>> points_of(SimpleNamespace(shape=(3, 4)))
    12
    """
    points = getattr(signal, "points", None)
    return int(math.prod(signal.shape) if points is None else points)
