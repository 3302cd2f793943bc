"""What equations change of the rules of planning: small networks, slow first layers, SOAP on all points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from staf.planning import recipes
from staf.planning.rules import OPTIMISER_ENTRIES, learning_rate
from staf.planning.situation import Choice, Rule, Situation

if TYPE_CHECKING:
    from staf.tasks.equations.equation import Equation

SIZE = {"width": 64, "depth": 3}
STEPS = 3000
RATE = 3e-3
LARGEST_BATCH = 2**14


def rules(equation: Equation) -> dict[str, Rule | None]:
    """The rules for one equation, by topic."""

    def network(s: Situation) -> Choice:
        return Choice(f"model {s.spec.name}, {SIZE['depth']} layers of {SIZE['width']}", arguments=dict(SIZE))

    def first_frequency(s: Situation) -> Choice:
        return Choice("", arguments={})

    def optimiser(s: Situation) -> Choice:
        ours = recipes.full_batch()
        return Choice(
            "SOAP on all matrices, which the squares of derivatives need",
            recipe={name: getattr(ours, name) for name in OPTIMISER_ENTRIES},
        )

    def rate(s: Situation) -> Choice:
        return learning_rate(RATE, "found for equations")

    def precision(s: Situation) -> Choice:
        if equation.dtype == torch.float64:
            return Choice("float64, as asked", recipe={"precision": "fp32"}, start=_in_float64)
        return Choice("products in float32", recipe={"precision": "fp32"})

    return {
        "network": network,
        "first_frequency": first_frequency,
        "optimiser": optimiser,
        "rate": rate,
        "precision": precision,
    }


def _in_float64(field: nn.Module) -> None:
    field.double()
