"""The trials of an equal search: the same points of one unit cube for every network, laid over its own constants.

Trial 0 is the network's default plan. The others are a Latin hypercube: along each axis the trials take the middles of
equal strata in a shuffled order that depends on the seed alone; of many shuffles, the one whose shared axes go least
together. Every network has the same trials along the shared axes: the rate of Adam, the rate of the matrix optimiser,
the optimiser and the network's own scale. Axes that a network has not are left out, so a network with more constants
has more to find in the same number of trials.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from typing import Any

from paper.protocols.plan_variants import PlanVariant

RATE = (4e-4, 1.6e-2)
MATRIX_FACTOR = (1 / 3, 3.0)
# Published constants, each searched from half to four times; the first is the network's scale.
CONSTANTS: dict[str, dict[str, float]] = {
    "staf": {"omega0": 30.0},
    "siren": {"omega0": 30.0},
    "finer": {"omega0": 30.0, "first_bias": 5.0},
    "gauss": {"sigma": 10.0},
    "wire": {"omega0": 30.0, "sigma0": 10.0},
    "mfn": {"input_scale": 256.0, "weight_scale": 1.0},
    "ffn": {"scale": 10.0},
    "pemlp": {"bands": 7.0},
    "incode": {"omega0": 30.0},
}
CONSTANT_FACTOR = (0.5, 4.0)
# STAF's own beside omega0.
ACTIVATION_RATE = (0.03, 3.0)
EXTRA_AMPLITUDE = (0.03, 0.3)
TERMS = (3, 5, 8)
SHARED = ("rate", "matrix", "optimiser", "scale")
AXES = (*SHARED, "second", "activation", "extra", "terms")
SHUFFLES = 512


def latin(count: int, seed: int = 0) -> dict[str, list[float]]:
    """Axis -> `count` places in (0, 1), one in each of as many equal strata.

    >>> sorted(latin(4)["rate"])
    [0.125, 0.375, 0.625, 0.875]
    """

    def shuffled(axis: str, shuffle: int) -> list[float]:
        # A hash orders the strata alike in every version of Python.
        order = sorted(range(count), key=lambda k: hashlib.sha256(f"{seed} {shuffle} {axis} {k}".encode()).digest())
        return [(stratum + 0.5) / count for stratum in order]

    def together(shuffle: int) -> float:
        places = [shuffled(axis, shuffle) for axis in SHARED]
        return max(abs(_covariance(a, b)) for a, b in itertools.combinations(places, 2))

    best = min(range(SHUFFLES), key=together)
    return {axis: shuffled(axis, best) for axis in AXES}


def _covariance(a: Sequence[float], b: Sequence[float]) -> float:
    # Places along every axis are the same numbers, whose mean is 1/2.
    return math.fsum((x - 0.5) * (y - 0.5) for x, y in zip(a, b, strict=True))


def trials(
    model: str, count: int, *, seed: int = 0, optimisers: Sequence[str] = (), constants: bool = True
) -> list[PlanVariant]:
    """Trial 0, the default plan, and `count` - 1 others; without `constants` the network stays as the plan builds it.

    >>> [trial.recipe["optimiser"] for trial in trials("siren", 3, optimisers=["muon"])[1:]]
    ['muon', 'muon']
    """
    if model not in CONSTANTS:
        raise ValueError(f"models must be among {', '.join(CONSTANTS)}, got {model!r}")
    if count < 1:
        raise ValueError(f"trials must be at least 1, got {count}")
    optimisers = optimisers or searched_optimisers()
    places = latin(count - 1, seed)
    found = [PlanVariant(model)]
    for i in range(count - 1):
        at = {axis: places[axis][i] for axis in AXES}
        rate = _log(at["rate"], RATE)
        recipe: dict[str, Any] = {
            "optimiser": optimisers[int(at["optimiser"] * len(optimisers))],
            "rate": _round(rate),
            "matrix_rate": _round(rate * _log(at["matrix"], MATRIX_FACTOR)),
        }
        arguments: dict[str, Any] = {}
        if model == "staf":
            factor = _round(_log(at["activation"], ACTIVATION_RATE))
            recipe |= {f"{part}_rate": factor for part in ("amplitude", "phase")}
        if constants:
            for (name, published), axis in zip(CONSTANTS[model].items(), ("scale", "second"), strict=False):
                arguments[name] = _scaled(name, published, _log(at[axis], CONSTANT_FACTOR))
            if model == "staf":
                arguments["extra_amplitude"] = _round(_log(at["extra"], EXTRA_AMPLITUDE))
                arguments["terms"] = TERMS[int(at["terms"] * len(TERMS))]
        found.append(PlanVariant(model, "default", recipe, arguments))
    return found


def searched_optimisers() -> list[str]:
    """Every optimiser of a recipe but plain Adam, whose 20 dB below Muon need no search (docs/recipes-evidence.md)."""
    return [name for name in known_optimisers() if name != "adam"]


def known_optimisers() -> tuple[str, ...]:
    """The names that a recipe takes."""
    from typing import get_args, get_type_hints

    from staf.training import Recipe

    return get_args(get_type_hints(Recipe)["optimiser"])


def _log(place: float, ends: tuple[float, float]) -> float:
    return math.exp(math.log(ends[0]) + place * math.log(ends[1] / ends[0]))


def _round(value: float) -> float:
    """Three digits: what a table shows is what was run."""
    return float(f"{value:.3g}")


def _scaled(name: str, published: float, factor: float) -> float | int:
    # A band more is twice the highest frequency.
    return round(published + math.log2(factor)) if name == "bands" else _round(published * factor)
