"""What a fit may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """What the user is willing to spend; the first limit reached ends the fit."""

    steps: int | None = None
    seconds: float | None = None
    target_db: float | None = None
