"""The published protocols: every network by the paper's words, with the constants and rates of its own authors.

The paper says that "learning rates followed optimal settings from original works"; the presets of each network hold
them (`staf.nn.networks`). Its budget, steps or epochs, is the paper's for all.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from staf.planning import Plan
    from staf.training import Recipe

PROTOCOLS = ("ours", "paper", "released")
MODELS = ("staf", "siren", "finer", "wire", "gauss", "ffn", "pemlp", "mfn", "incode")
# What a recipe says about how long and on what, which is the paper's for every network.
BUDGET = ("steps", "epochs", "batch")
# WIRE's authors divide its rate for images and denoising by the number of so many pixels that an image has; INCODE's
# and STAF's code do so for WIRE as well.
WIRE_PIXELS = 65_536
WIRE_DIVIDES = ("image", "denoising")


def paper_plan(signal: Any, model: str, task: str, *, released: bool = False, recipe: Recipe | None = None) -> Plan:
    """The published plan of a network for a task: `image`, `audio`, `shape`, `super_resolution` or `denoising`.

    `released` takes the code of STAF's authors where it differs from their paper. `recipe` gives another budget (steps,
    epochs, batch) than the task's own; rate and schedule stay the network's. On CUDA the hidden products are split
    bfloat16, whose final quality is that of float32 (docs/recipes-evidence.md).
    """
    from staf.nn import NETWORKS
    from staf.nn.networks.spec import observed_shape
    from staf.planning import plans

    name = f"released_{task}" if released and f"released_{task}" in NETWORKS[model].presets else f"paper_{task}"
    chosen = plans.preset(signal, name, model=model)
    changes: dict[str, Any] = {"precision": "bf16x3"}
    if model == "wire" and task in WIRE_DIVIDES:
        changes["rate"] = chosen.recipe.rate * min(1.0, WIRE_PIXELS / math.prod(observed_shape(signal)))
    if recipe is not None:
        changes |= {entry: getattr(recipe, entry) for entry in BUDGET}
    return dataclasses.replace(chosen, recipe=chosen.recipe.replace(**changes))


def with_arguments(chosen: Plan, **arguments: Any) -> Plan:
    """The plan with other arguments of its network.

    >>> from types import SimpleNamespace
    >>> signal = SimpleNamespace(in_features=2, out_features=3, shape=(8, 8))
    >>> plan = with_arguments(paper_plan(signal, "staf", "image"), terms=2)
    >>> plan.field(0).architecture["arguments"]["terms"]
    2
    """
    from staf.planning.plans import NetworkFactory

    factory = chosen.field_factory
    if not isinstance(factory, NetworkFactory):
        raise TypeError(f"chosen must build one of the library's networks, got {factory!r}")
    same = dataclasses.replace(factory, arguments={**factory.arguments, **arguments})
    words = ", ".join(f"{name} {value}" for name, value in arguments.items())
    return dataclasses.replace(chosen, field_factory=same, reasons={**chosen.reasons, "changed": f"changed: {words}"})
