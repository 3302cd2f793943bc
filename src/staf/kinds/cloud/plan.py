"""What point clouds change of the rules of planning."""

from __future__ import annotations

from staf.planning.rules import CPU_BATCH, counted, learning_rate
from staf.planning.situation import Choice, Rule, Situation

# Points of one step. There are two places more for each of them, and second derivatives of all.
BATCH = {"cpu": CPU_BATCH // 8, "cuda": 2**15}
# Losses with second derivatives want smaller steps than those of values.
RATE_FACTOR = 0.5


def first_frequency(s: Situation) -> Choice:
    """What follows the voxels along a side of the cube, as for shapes."""
    arguments = s.spec.first_layer.for_samples(s.signal.resolution)
    said = ", ".join(f"{name} {value:g}" for name, value in arguments.items())
    return Choice(f"{said} for {s.signal.resolution} voxels a side" if said else "", arguments=arguments)


def batch(s: Situation) -> Choice:
    """How many points of the cloud a step sees."""
    size = BATCH["cpu" if s.on_cpu else "cuda"]
    return Choice(f"steps of {counted(size, 'point')}, a place near each and one anywhere", recipe={"batch": size})


def rate(s: Situation) -> Choice:
    """The usual rate of mini-batches, halved."""
    return learning_rate(s.spec.rates.full_batch * RATE_FACTOR, "halved, because losses have second derivatives")


RULES: dict[str, Rule | None] = {"first_frequency": first_frequency, "batch": batch, "rate": rate}
