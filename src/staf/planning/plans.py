"""Plans: what to train and how, for a signal and a budget, with the reasons by topic.

`plan` runs the table of rules. The published networks are plans too, one function for each preset of a network:
`paper_staf_image`, `paper_staf_audio`, `paper_staf_shape`, `paper_staf_super_resolution`, `paper_staf_denoising`, the
same for every other network with the constants and rates of its own authors (`paper_siren_image`), and with `released_`
for the code of STAF's authors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import nn

from staf._documents import Entries
from staf.nn.networks import NETWORKS, NetworkSpec, network_named
from staf.planning import recipes
from staf.planning.rules import OWN_NETWORK_RULES, rules_for, rules_of, with_changes
from staf.planning.situation import Budget, Rule, SignalLike, Situation, points_of
from staf.training.recipe import Recipe
from staf.training.schedules import from_plain

__all__ = ["Budget", "NetworkFactory", "Plan", "SignalLike", "for_own_network", "plan", "points_of", "preset"]

FieldFactory = Callable[[torch.Generator], nn.Module]


@dataclass(frozen=True)
class NetworkFactory:
    """Build one of the library's networks from a generator."""

    spec: NetworkSpec
    in_features: int
    out_features: int
    arguments: Entries = field(default_factory=dict)
    starts: tuple[Callable[[nn.Module], None], ...] = ()

    def __call__(self, generator: torch.Generator) -> nn.Module:
        network = self.spec.factory(self.in_features, self.out_features, generator=generator, **self.arguments)
        for start in self.starts:
            start(network)
        return network


@dataclass(frozen=True)
class Plan:
    """A function that builds the network from a generator, the recipe to train it, and the reason for each choice.

    >>> from types import SimpleNamespace
    >>> signal = SimpleNamespace(in_features=2, out_features=3, points=65536)
    >>> chosen = plan(signal, Budget(steps=200))
    >>> chosen.recipe.steps, chosen.recipe.optimiser
    (200, 'muon')
    >>> chosen.reasons["budget"]
    '200 steps, as asked'
    """

    field_factory: FieldFactory
    recipe: Recipe
    reasons: dict[str, str] = field(default_factory=dict)
    name: str = "default"
    # What the user decided, in words of the command line that repeats the fit.
    asked: tuple[str, ...] = ()

    def field(self, seed: int = 0) -> nn.Module:
        """Build the field; the same seed gives the same weights."""
        return self.field_factory(torch.Generator().manual_seed(seed))

    def __repr__(self) -> str:
        """The reasons, one line for each topic.

        >>> print(Plan(lambda generator: nn.Identity(), recipes.default(), {"rate": "small", "first_frequency": "30"}))
        plan 'default'
          rate             small
          first frequency  30
        """
        width = max((len(topic) for topic in self.reasons), default=0)
        lines = [f"  {topic.replace('_', ' '):{width}}  {reason}" for topic, reason in self.reasons.items()]
        return "\n".join([f"plan {self.name!r}", *lines])


def plan(
    signal: SignalLike,
    budget: Budget | None = None,
    *,
    device: str = "cpu",
    model: str = "staf",
    rules: Mapping[str, Rule | None] | None = None,
) -> Plan:
    """The default plan for a signal or a task and a budget, with the network `model`.

    `rules` replaces rules by topic; see `staf.planning.rules`.

    >>> from types import SimpleNamespace
    >>> from staf.planning.rules import learning_rate
    >>> signal = SimpleNamespace(in_features=2, out_features=3, points=64)
    >>> slow = plan(signal, model="siren", rules={"rate": lambda situation: learning_rate(1e-5, "for a try")})
    >>> slow.recipe.rate, slow.reasons["rate"]
    (1e-05, 'learning rates of 1e-05, for a try')
    """
    if not hasattr(signal, "in_features"):
        raise TypeError(f"signal must be a signal or a task, got {type(signal).__name__}: staf.open makes a signal")
    table = with_changes(rules_for(signal), rules or {})
    situation = Situation(signal, budget or Budget(), device, network_named(model), table)
    return _planned(situation)


def for_own_network(
    signal: SignalLike,
    budget: Budget | None = None,
    *,
    device: str = "cpu",
    model: str = "staf",
    parameters: int | None = None,
) -> Plan:
    """The plan for a given network: batch, budget, and Muon and Adam with the rate of `model`, with the reasons.

    `parameters` is the number of its parameters, so that the plan can say if they are too few. A network that is not
    from this library has STAF's rate. The plan does not use constants that were found for networks of width 256 on
    images of one size.
    """
    of_signal = rules_of(getattr(signal, "signal", signal))
    changes = {topic: rule for topic, rule in of_signal.items() if topic in ("batch", "rate", "size")}
    if parameters is None:
        changes["size"] = None
    table = with_changes(OWN_NETWORK_RULES, changes)
    chosen = _planned(Situation(signal, budget or Budget(), device, network_named(model), table, parameters=parameters))
    # A function of the module, so that a fit can be pickled.
    default_field = partial(_default_field, signal, budget, device)
    return Plan(default_field, chosen.recipe, chosen.reasons, "own network")


def _default_field(signal: SignalLike, budget: Budget | None, device: str, generator: torch.Generator) -> nn.Module:
    return plan(signal, budget, device=device).field_factory(generator)


def preset(signal: SignalLike, name: str, *, model: str = "staf") -> Plan:
    """A published network with its recipe; `name` is one of the network's presets, such as `paper_image`.

    >>> from types import SimpleNamespace
    >>> preset(SimpleNamespace(in_features=2, out_features=3), "paper_image").recipe.epochs
    501
    """
    spec = network_named(model)
    if name not in spec.presets:
        raise ValueError(
            f"name must be a preset of {model}, {', '.join(spec.presets) or 'which has none'}; got {name!r}"
        )
    chosen = spec.presets[name]
    who, task = name.split("_", 1)
    arguments, training = chosen.arguments_for(signal), dict(chosen.training)
    reasons = {
        "preset": f"{who}_{model}_{task}: the published constants, kept as they are",
        "network": ", ".join(f"{key}={value}" for key, value in arguments.items()) or "its own constants",
    }
    if training:
        said = {key: schedule_in_words(value) if key == "schedule" else value for key, value in training.items()}
        reasons["training"] = "by its own authors: " + ", ".join(f"{key} {value}" for key, value in said.items())
    if "schedule" in training:
        training["schedule"] = from_plain(dict(training["schedule"]))
    factory = NetworkFactory(spec, signal.in_features, signal.out_features, arguments)
    return Plan(factory, getattr(recipes, chosen.recipe)().replace(**training), reasons, f"{who}_{model}_{task}")


def schedule_in_words(plain: Entries) -> str:
    """A schedule's name and constants.

    >>> schedule_in_words({"name": "exponential", "final": 0.1})
    'exponential (final 0.1)'
    """
    constants = ", ".join(f"{key} {value}" for key, value in plain.items() if key != "name")
    return str(plain["name"]) + (f" ({constants})" if constants else "")


def _planned(situation: Situation) -> Plan:
    """The choices of all topics as one plan."""
    choices = {topic: situation[topic] for topic in situation.rules}
    entries = {entry: value for choice in choices.values() for entry, value in choice.recipe.items()}
    starts = tuple(choice.start for choice in choices.values() if choice.start is not None)
    source = situation.source
    spec = next((choice.spec for choice in choices.values() if choice.spec is not None), situation.spec)
    factory = NetworkFactory(spec, source.in_features, source.out_features, situation.arguments, starts)
    reasons = {topic: choice.reason for topic, choice in choices.items() if choice.reason}
    return Plan(factory, recipes.default().replace(**entries), reasons)


def _presets() -> dict[str, tuple[str, str]]:
    """The name of each function of a preset -> the network and the preset."""
    found = {}
    for spec in NETWORKS.values():
        for name in spec.presets:
            who, task = name.split("_", 1)
            found[f"{who}_{spec.name}_{task}"] = (spec.name, name)
    return found


def __getattr__(name: str) -> Callable[[SignalLike], Plan]:
    if name not in (presets := _presets()):
        raise AttributeError(f"module 'staf.planning.plans' has no attribute {name!r}")
    model, preset_name = presets[name]

    def published(signal: SignalLike) -> Plan:
        return preset(signal, preset_name, model=model)

    published.__name__ = published.__qualname__ = name
    published.__doc__ = NETWORKS[model].presets[preset_name].summary
    return published


def __dir__() -> list[str]:
    return sorted([*__all__, *_presets()])
