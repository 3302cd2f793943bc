"""What point clouds change of the rules of planning."""

from __future__ import annotations

import math

from staf._messages import counted
from staf.planning.rules import CPU_BATCH, learning_rate
from staf.planning.situation import Choice, Rule, Situation

# Points of one step. There are two places more for each of them, and second derivatives of all.
BATCH = {"cpu": CPU_BATCH // 8, "cuda": 2**15}
# Losses with second derivatives want smaller steps than those of values.
RATE_FACTOR = 0.5
# omega0 for each point along a side, if the points lay on a sphere in the cube, within the ends: faster sines are free
# to invent a surface between the points. Cloud distances after 300 steps of 1,024 on a CPU, width 64, one seed, with
# omega0 90, 40, 20, 10 and 5: a ball of 642 points 0.069, 0.0011, 0.00044, 0.00022 and 0.00017 (with 90, normals agree
# by 0.52); a torus of 20,000 points 0.00062, 0.00039, 0.00043, 0.00053 and 0.00055.
OMEGA0_PER_SIDE = 0.5
OMEGA0_ENDS = (5.0, 40.0)


def first_frequency(s: Situation) -> Choice:
    """What follows the distance between neighbouring points."""
    cloud, first = getattr(s.signal, "signal", s.signal), s.spec.first_layer
    count = cloud.shape[0]
    omega0 = min(max(OMEGA0_PER_SIDE * math.sqrt(count / math.pi), OMEGA0_ENDS[0]), OMEGA0_ENDS[1])
    arguments = {**first.for_samples(cloud.resolution), **first.for_omega0(omega0)}
    said = ", ".join(f"{name} {value:g}" for name, value in arguments.items())
    return Choice(f"{said}, for the distances between {count:,} points" if said else "", arguments=arguments)


def batch(s: Situation) -> Choice:
    """How many points of the cloud a step sees."""
    size = BATCH["cpu" if s.on_cpu else "cuda"]
    return Choice(f"steps of {counted(size, 'point')}, a place near each and one anywhere", recipe={"batch": size})


def rate(s: Situation) -> Choice:
    """The usual rate of mini-batches, halved."""
    return learning_rate(s.spec.rates.full_batch * RATE_FACTOR, "halved, because losses have second derivatives")


RULES: dict[str, Rule | None] = {"first_frequency": first_frequency, "batch": batch, "rate": rate}
