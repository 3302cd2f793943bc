"""The arms of the comparison: networks that differ in what is trained of their sines, and in width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

DEPTH = 4


@dataclass(frozen=True)
class Arm:
    """A network of the comparison.

    Args:
        name: in tables.
        model: `siren` or `staf`.
        arguments: of the network.
        sized_as: the arm whose number of parameters this one is widened to.
        timed_as: the arm whose training time this one gets, by more steps.

    >>> ARMS["5 sines a neuron"].arguments["sharing"]
    'neuron'
    """

    name: str
    model: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    sized_as: str = ""
    timed_as: str = ""

    def width(self, inputs: int, outputs: int, width: int) -> int:
        """The width where the comparison has `width`: another one only for an arm that is sized as another."""
        if not self.sized_as:
            return width
        wanted = count(ARMS[self.sized_as], inputs, outputs, width)
        wider = range(width, 2 * width + 1)
        return min(wider, key=lambda candidate: abs(count(self, inputs, outputs, candidate, exact=True) - wanted))


def count(arm: Arm, inputs: int, outputs: int, width: int, *, exact: bool = False) -> int:
    """Parameters of an arm; `exact` takes the width as given.

    >>> count(ARMS["frozen sine"], 2, 3, 64), count(ARMS["5 sines a neuron"], 2, 3, 64)
    (12867, 16707)
    """
    own = width if exact else arm.width(inputs, outputs, width)
    weights = own * (inputs + 1) + (DEPTH - 1) * own * (own + 1) + outputs * (own + 1)
    if arm.model == "siren":
        return weights
    terms, parts = arm.arguments.get("terms", 5), len(arm.arguments.get("train", ("C", "Omega", "Phi")))
    return weights + DEPTH * terms * parts * (own if arm.arguments.get("sharing") == "neuron" else 1)


ARMS = {
    arm.name: arm
    for arm in (
        Arm("frozen sine", "siren"),
        Arm("trained Omega", "staf", {"terms": 1, "train": ("frequency",)}),
        Arm("5 sines a layer", "staf"),
        Arm("20 sines a layer", "staf", {"terms": 20}),
        Arm("5 sines a neuron", "staf", {"sharing": "neuron"}),
        Arm("frozen sine, wider", "siren", sized_as="5 sines a neuron"),
        Arm("frozen sine, longer", "siren", timed_as="5 sines a neuron"),
    )
}


def network(
    arm: Arm, inputs: int, outputs: int, width: int, seed: int, *, depth: int = DEPTH, **constants: Any
) -> nn.Module:
    """A fresh network of an arm; `constants` such as omega0 are the same for every arm.

    >>> sum(p.numel() for p in network(ARMS["5 sines a neuron"], 2, 3, 64, 0, omega0=30.0).parameters())
    16707
    """
    import torch

    from staf.nn import NETWORKS

    factory = NETWORKS[arm.model].factory
    generator = torch.Generator().manual_seed(seed)
    own = arm.width(inputs, outputs, width)
    return factory(inputs, outputs, width=own, depth=depth, generator=generator, **constants, **arm.arguments)
