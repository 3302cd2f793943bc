"""What equations change of the rules of planning: small networks, slow first layers, SOAP on all points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from staf._messages import counted
from staf.planning import recipes
from staf.planning.rules import OPTIMISER_ENTRIES, learning_rate
from staf.planning.rules import budget as usual_budget
from staf.planning.situation import Choice, Rule, Situation
from staf.training.schedules import Cosine

if TYPE_CHECKING:
    from staf.tasks.equations.equation import Equation

SIZE = {"width": 64, "depth": 3}
STEPS = {"cpu": 2000, "cuda": 10_000}
RATE = 3e-3
# All points in every step, up to this many: noise of mini-batches is larger than the errors that are sought.
LARGEST_BATCH = 2**14
# The first layer's omega0, for solutions whose frequency is not given.
OMEGA0 = 5.0


def rules(equation: Equation) -> dict[str, Rule | None]:
    """The rules for one equation, by topic."""

    def network(s: Situation) -> Choice:
        return Choice(f"model {s.spec.name}: {SIZE['depth']} activated layers of {SIZE['width']}", arguments=dict(SIZE))

    def first_frequency(s: Situation) -> Choice:
        first = s.spec.first_layer
        if not first.follows_omega0:
            return Choice()
        # The frequency in radians per unit of the coordinates, which span [-1, 1] over the box.
        told = None if equation.frequency is None else equation.frequency * float(equation.units.max())
        omega0 = OMEGA0 if told is None else round(max(OMEGA0, told), 1)
        why = "as for smooth solutions" if told is None or told <= OMEGA0 else "the highest frequency of the solution"
        return Choice(f"omega0 {omega0:g} in the first layer, {why}", arguments=first.for_omega0(omega0))

    def precision(s: Situation) -> Choice:
        if equation.dtype == torch.float64:
            return Choice("float64, as asked", recipe={"precision": "fp32"}, start=_in_float64)
        return Choice("products in float32", recipe={"precision": "fp32"})

    return {
        "network": network,
        "first_frequency": first_frequency,
        "optimiser": optimiser,
        "rate": lambda s: learning_rate(RATE, "found for equations"),
        "precision": precision,
        "batch": batch,
        "budget": budget,
    }


def optimiser(s: Situation) -> Choice:
    """SOAP, whose errors are far below those of Adam."""
    ours = recipes.full_batch()
    entries = {name: getattr(ours, name) for name in OPTIMISER_ENTRIES}
    reason = "SOAP on the matrices, Adam on the rest: errors of Adam alone are 7 to 240 times larger"
    return Choice(reason, recipe={**entries, "schedule": Cosine(0.001, warm=0.05)})


def batch(s: Situation) -> Choice:
    """All points."""
    if s.points <= LARGEST_BATCH:
        return Choice(f"every step sees all {s.points:,} points", recipe={"batch": None})
    return Choice(f"steps of {LARGEST_BATCH:,} of the {s.points:,} points", recipe={"batch": LARGEST_BATCH})


def budget(s: Situation) -> Choice:
    """What ends the fit."""
    if s.budget.steps is not None or s.budget.seconds is not None:
        return usual_budget(s)
    steps = STEPS["cpu" if s.on_cpu else "cuda"]
    return Choice(f"no budget was given: {counted(steps, 'step')}, the default on this device", recipe={"steps": steps})


def _in_float64(field: nn.Module) -> None:
    field.double()
