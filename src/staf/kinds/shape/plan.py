"""What shapes change of the rules of planning."""

from __future__ import annotations

from staf.planning.first_frequency import from_resolution
from staf.planning.situation import Rule

# An occupancy is a step at the surface, and its spectrum says nothing about the shape.
RULES: dict[str, Rule] = {"first_frequency": from_resolution}
