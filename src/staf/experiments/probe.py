"""How long a step of a choice takes on this machine, measured once in a process."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from staf.experiments.choices import Choice, plan_of
from staf.experiments.plain import canonical
from staf.experiments.step_times import clock

_measured: dict[str, float] = {}


def step_seconds(signal: Any, choice: Choice, device: str, steps: int, of: int) -> float:
    """Seconds of one step of a fit of `of` steps, from a short one of `steps` whose start is not counted.

    The short one has the recipe of the long one: plans for few steps have other optimisers.
    """
    key = canonical({"choice": choice, "points": math.prod(signal.shape), "device": device, "of": of})
    if key not in _measured:
        from staf.api import fit

        plan = plan_of(signal, choice, of, device)
        plan = dataclasses.replace(plan, recipe=plan.recipe.replace(steps=steps))
        _measured[key] = clock(fit(signal, plan=plan, device=device, progress=False).history.seconds).step
    return _measured[key]
