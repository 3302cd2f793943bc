"""How long a step of a choice takes on this machine, measured once in a process."""

from __future__ import annotations

import math
from typing import Any

from staf.experiments.choices import Choice, plan_of
from staf.experiments.plain import canonical
from staf.experiments.step_times import clock

_measured: dict[str, float] = {}


def step_seconds(signal: Any, choice: Choice, device: str, steps: int) -> float:
    """Seconds of one training step, from a short fit of `steps` steps whose start is not counted."""
    key = canonical({"choice": choice, "points": math.prod(signal.shape), "device": device})
    if key not in _measured:
        from staf.api import fit

        plan = plan_of(signal, choice, steps, device)
        _measured[key] = clock(fit(signal, plan=plan, device=device, progress=False).history.seconds).step
    return _measured[key]
