"""A row of a table: a network, what sets it apart, and its plan under each protocol."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paper.protocols.published import paper_plan, with_arguments

if TYPE_CHECKING:
    from staf.planning import Plan

# The paper's text; the code of its authors; our default plan with the same number of steps.
PROTOCOLS = ("paper", "released", "ours")
LABELS = {"paper": "paper's recipe", "released": "released recipe", "ours": "our default"}
BATCH = 4096


@dataclass(frozen=True)
class Row:
    """A network in a table.

    Args:
        name: in the table and on the command line.
        model: the network.
        arguments: of the network, in every protocol.
        recipe: entries of the recipe, in every protocol; a schedule in plain data.
        protocols: those it is run under; all by default.

    >>> Row("tau 2", "staf", {"terms": 2}).arguments["terms"]
    2
    """

    name: str
    model: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    protocols: tuple[str, ...] = PROTOCOLS


@dataclass(frozen=True)
class Length:
    """How long a fit is: `iterations`, read as full-batch steps or as epochs of 4,096 points.

    The released notebooks call an epoch of mini-batches an iteration; which of the two the paper's tables mean is not
    said. Our default always takes them as steps.
    """

    iterations: int
    epochs: bool = False


def plan_for(signal: Any, row: Row, protocol: str, length: Length, device: str) -> Plan:
    """The plan of a row under a protocol."""
    from staf.planning import Budget, plan
    from staf.planning.situation import Choice
    from staf.training import Recipe
    from staf.training.schedules import from_plain

    if protocol == "ours":
        words = ", ".join(f"{name} {value}" for name, value in row.arguments.items())
        # A topic of the plan, so that what depends on it follows: a narrow network has other rates.
        asked = {"row": lambda s: Choice(words and f"changed: {words}", arguments=row.arguments)}
        budget = Budget(steps=length.iterations)
        chosen = plan(signal, budget, device=device.split(":")[0], model=row.model, rules=asked)
    else:
        own = Recipe(epochs=length.iterations, batch=BATCH) if length.epochs else Recipe(steps=length.iterations)
        chosen = paper_plan(signal, row.model, "image", released=protocol == "released", recipe=own)
        chosen = with_arguments(chosen, **row.arguments) if row.arguments else chosen
    if row.recipe:
        changes = dict(row.recipe)
        if "schedule" in changes:
            changes["schedule"] = from_plain(changes["schedule"])
        chosen = dataclasses.replace(chosen, recipe=chosen.recipe.replace(**changes))
    return chosen


def of_its_size(signal: Any) -> Any:
    """What a plan sees of a signal that shares its plan with others: everything but its samples."""
    from types import SimpleNamespace

    names = ("kind", "in_features", "out_features", "shape", "name")
    return SimpleNamespace(**{name: getattr(signal, name) for name in names if hasattr(signal, name)})
