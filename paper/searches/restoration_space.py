"""The trials of an equal search for restorations: one Latin hypercube for every network, laid over its own settings.

Trial 0 is the network's default plan, as its `NetworkSpec` has it. The others change the
rate, by a factor that is the same for every network, and one or two constants that say how fast the network varies;
everything else in the table stays, for example STAF's number of terms. A trial is a `PlanVariant` whose `recipe` has
the rate and whose `arguments` are the other fields of `Settings`, so that the best one is a row of the table.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from paper.protocols.plan_variants import PlanVariant
from paper.searches.recipe_space import latin

if TYPE_CHECKING:
    from staf.nn.networks import Settings

TASKS = ("super-resolution", "denoising")
SINES = ("staf", "siren", "finer", "incode")
# Factors of the planned rate, and of the planned omega0 of the first sines.
RATE_FACTOR = (1 / 4, 4.0)
OMEGA0_FACTOR = (1 / 3, 3.0)
HIDDEN_OMEGA0 = (2.0, 30.0)
# The published constants (sigma and scale 10, input scale 256, 7 bands) fit every pixel, and are near the upper ends.
# kodim03 seen at 64x64, the default plan and the best of four trials, 100 steps on a CPU: Gauss 21.0 and 26.6 dB (sigma
# 5.4), FFN 24.9 and 29.0 (scale 1.4), MFN 21.5 and 28.8 (input scale 70), ReLU+PE 26.9 and 30.1 (3 bands).
CONSTANTS: dict[str, tuple[str, tuple[float, float]]] = {
    "gauss": ("sigma", (1.0, 15.0)),
    "ffn": ("scale", (1.0, 15.0)),
    "mfn": ("input_scale", (8.0, 256.0)),
    "wire": ("omega0", (2.0, 20.0)),
}
# A band more is twice the highest frequency, so that their number is a logarithm already.
BANDS = (2, 8)
# WIRE's sigma0 over its omega0: the wavelet's largest value is exp(1 / (2 ratio)^2), and each layer feeds the next.
SIGMA0_RATIO = (0.5, 3.0)
MODELS = (*SINES, *CONSTANTS, "pemlp")
# Axes of the hypercube that are laid to go least together.
RATE, FIRST, SECOND = "rate", "scale", "matrix"
_places = lru_cache(maxsize=8)(latin)


def planned(task: str, model: str) -> Settings:
    """What the default plan gives to a network for a task."""
    from staf.nn import NETWORKS

    return NETWORKS[model].settings(task.replace("-", "_"))


def trials(task: str, model: str, count: int, *, seed: int = 0) -> list[PlanVariant]:
    """Trial 0, the default plan, and `count` - 1 others.

    >>> sorted(trial.arguments["constants"]["bands"] for trial in trials("denoising", "pemlp", 8)[1:])
    [2, 3, 4, 5, 6, 7, 8]
    """
    if model not in MODELS:
        raise ValueError(f"models must be among {', '.join(sorted(MODELS))}, got {model!r}")
    if count < 1:
        raise ValueError(f"trials must be at least 1, got {count}")
    base = planned(task, model)
    found = [settings_variant(model, base.rate, base.per_pixel, dict(base.constants))]
    places = _places(count - 1, seed)
    for rate, first, second in zip(places[RATE], places[FIRST], places[SECOND], strict=True):
        per_pixel, constants = _moved(model, base, first, second)
        found.append(
            settings_variant(model, _log(rate, RATE_FACTOR, base.rate), per_pixel, {**base.constants, **constants})
        )
    return found


def settings_variant(model: str, rate: float, per_pixel: float | None, constants: dict[str, Any]) -> PlanVariant:
    """Settings of a network as plain data."""
    return PlanVariant(model, "default", {"rate": rate}, {"per_pixel": per_pixel, "constants": constants})


def settings_of(chosen: PlanVariant) -> Settings:
    """The settings of a variant."""
    from staf.nn.networks import Settings

    return Settings(chosen.recipe["rate"], **chosen.arguments)


def in_code(chosen: PlanVariant) -> str:
    """The settings of a variant as a row of the tables has them; no torch needed.

    >>> in_code(settings_variant("siren", 2e-3, 0.1, {"hidden_omega0": 7.0}))
    'Settings(0.002, per_pixel=0.1, constants={"hidden_omega0": 7.0})'
    """
    words = [f"{chosen.recipe['rate']:g}"]
    if chosen.arguments["per_pixel"] is not None:
        words.append(f"per_pixel={chosen.arguments['per_pixel']:g}")
    if chosen.arguments["constants"]:
        entries = ", ".join(f'"{name}": {value!r}' for name, value in chosen.arguments["constants"].items())
        words.append(f"constants={{{entries}}}")
    return f"Settings({', '.join(words)})"


def _moved(model: str, base: Settings, first: float, second: float) -> tuple[float | None, dict[str, Any]]:
    """`per_pixel` and the searched constants at places `first` and `second` in (0, 1)."""
    if model in SINES:
        hidden = {"hidden_omega0": _log(second, HIDDEN_OMEGA0)}
        if base.per_pixel is not None:
            return _log(first, OMEGA0_FACTOR, base.per_pixel), hidden
        return None, {"omega0": _log(first, OMEGA0_FACTOR, base.constants["omega0"]), **hidden}
    if model == "pemlp":
        low, high = BANDS
        return base.per_pixel, {"bands": low + int(first * (high + 1 - low))}
    name, ends = CONSTANTS[model]
    value = _log(first, ends)
    if model == "wire":
        # One omega0 for all layers, as published.
        return base.per_pixel, {name: value, "hidden_omega0": value, "sigma0": _log(second, SIGMA0_RATIO, value)}
    return base.per_pixel, {name: value}


def _log(place: float, ends: tuple[float, float], middle: float = 1.0) -> float:
    """Between the ends by the logarithm, times `middle`, in three digits: what a table shows is what was run."""
    return float(f"{middle * math.exp(math.log(ends[0]) + place * math.log(ends[1] / ends[0])):.3g}")
