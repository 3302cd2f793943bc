"""The result of the trainer for each network."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from staf.training.history import History
from staf.training.recipe import Recipe


@dataclass
class Result:
    """A trained field with its history; `checkpoint` is the file from which a fit stopped by Ctrl-C can be resumed."""

    field: nn.Module
    metrics: dict[str, float]
    history: History
    recipe: Recipe
    seed: int
    seconds: float
    steps: int
    stopped: str
    notes: list[str] = field(default_factory=list)
    checkpoint: Path | None = None
