"""What videos change of the rules of planning."""

from __future__ import annotations

from staf.planning.capacity import HOLDS, hash_grid
from staf.planning.situation import Choice, Rule, Situation


def capacity(s: Situation) -> Choice:
    """The network asked for, if it can hold the clip; otherwise its activation behind a hash grid of (t, y, x)."""
    shape = tuple(s.signal.shape)
    if s.asked.grid:
        return hash_grid(s, shape, "")
    values, parameters = s.signal.points * s.signal.out_features, s.asked.rows[0].parameters if s.asked.rows else 0
    if s.asked.decoder is None or values <= HOLDS * parameters:
        return Choice()
    return hash_grid(s, shape, f"{parameters:,} parameters cannot hold {values:,} values: ")


RULES: dict[str, Rule] = {"capacity": capacity}
