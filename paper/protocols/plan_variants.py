"""What is changed of a network's default plan: entries of its recipe and constants of its network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from staf.planning import Plan

# How a network is trained: by its default plan, by the best trial of a search, or by the published schedule.
RECIPES = ("default", "tuned", "paper")


@dataclass(frozen=True)
class PlanVariant:
    """A network, what its plan starts from, and changes to recipe and network in plain data.

    >>> PlanVariant("siren", recipe={"rate": 2e-3}, arguments={"omega0": 60.0}).arguments["omega0"]
    60.0
    """

    model: str
    base: str = "default"
    recipe: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)


def plan_of(signal: Any, variant: PlanVariant, steps: int, device: str) -> Plan:
    """The plan of a variant for a signal, `steps` steps long, or as long as a changed recipe says."""
    from staf.planning import Budget, Plan, plan
    from staf.training.schedules import from_plain

    device = device.split(":")[0]
    if variant.base == "paper":
        base = _published(signal, variant.model)
    else:
        base = plan(signal, Budget(steps=steps), device=device, model=variant.model)
    changes = dict(variant.recipe)
    if "schedule" in changes:
        changes["schedule"] = from_plain(dict(changes["schedule"]))
    recipe = base.recipe.replace(**{"steps": steps, **changes})
    changed = ", ".join(f"{name} {value}" for name, value in {**variant.recipe, **variant.arguments}.items())
    reasons = {**base.reasons, **({"changed": f"changed: {changed}"} if changed else {})}
    factory = _factory(signal, variant, base) if variant.arguments else base.field_factory
    return Plan(factory, recipe, reasons, base.name)


def _published(signal: Any, model: str) -> Plan:
    """The network's published constants under the paper's schedule for such a signal, read as full-batch steps."""
    from paper.protocols.published import paper_plan
    from staf.planning import recipes

    recipe = recipes.paper_kodak() if signal.kind == "image" else None
    return paper_plan(signal, model, signal.kind, recipe=recipe)


def _factory(signal: Any, variant: PlanVariant, base: Plan) -> Any:
    from staf.nn import networks

    if signal.kind == "audio":
        from staf.kinds.audio.plan import audio_field

        return lambda generator: audio_field(variant.model, signal, generator, **variant.arguments)
    architecture: Any = base.field(0).architecture
    arguments = {**architecture["arguments"], **variant.arguments}
    if arguments.get("law", "siren_start") != "siren_start":
        # Constants of the start that the other laws have not.
        arguments = {name: value for name, value in arguments.items() if name not in ("extra_amplitude", "spread")}
    return lambda generator: networks.build({"name": architecture["name"], "arguments": arguments}, generator=generator)
