"""A recipe: everything that decides how a field is trained, as one immutable record."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from staf._documents import Document
from staf.training import schedules
from staf.training.schedules import Cosine, Schedule

OptimiserName = Literal["adam", "muon", "soap", "learnt"]
Precision = Literal["fp32", "bf16x3", "tf32", "tf32-then-bf16x3"]


# Beyond it floats count no single steps any more.
MOST = 2**53
# Entries that came later are written where they are not these, so that other recipes are written as they were, and sets
# of fields that were fitted before can be resumed.
LATER = {"momentum": 0.95, "table_decay": 0.0, "subpixels": 1, "ray_samples": 1024}
NUMBERS = ["rate", "matrix_rate", "table_rate", "amplitude_rate", "frequency_rate", "phase_rate", "momentum"]
NUMBERS += ["table_decay", "seconds", "target_db", "freeze_activations_from"]


@dataclass(frozen=True)
class Recipe:
    """How to train.

    `steps` is the number of optimiser steps. With `epochs` instead, a step is one mini-batch of `batch` points, and an
    epoch visits every point once. `batch=None` means the full batch.

    Learning rates: `rate` is that of Adam (and of SOAP on the first and the last layer), `matrix_rate` that of Muon or
    SOAP on the hidden matrices, and `table_rate` that of Adam on the tables of hash grids. The rates of C, Omega and
    Phi are multiples of `rate`. The optimiser "learnt" is gradient descent with the rates of a field of
    `staf.learn_start`, times `rate`. `momentum` is that of Muon; use less for few steps.

    `table_decay` / 2 times the sum of squares of the tables is added to the loss. `subpixels` and `ray_samples` apply
    to scenes that do not set them: rays along each side of a pixel, and samples along the diagonal of the box.

    >>> Recipe(steps=100, batch=None).total_steps(points=65536)
    100
    >>> Recipe(epochs=2, batch=4096).total_steps(points=510 * 339)
    86
    """

    steps: int | None = None
    epochs: int | None = None
    batch: int | None = None
    optimiser: OptimiserName = "adam"
    rate: float = 1e-3
    matrix_rate: float = 3e-3
    table_rate: float = 1e-2
    amplitude_rate: float = 1.0
    frequency_rate: float = 1.0
    phase_rate: float = 1.0
    schedule: Schedule = field(default_factory=Cosine)
    freeze_activations_from: int | None = None
    seconds: float | None = None
    target_db: float | None = None
    convention: Literal["centres", "ends"] = "centres"
    precision: Precision = "fp32"
    momentum: float = 0.95
    table_decay: float = 0.0
    subpixels: int = 1
    ray_samples: int = 1024

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "batch", "subpixels", "ray_samples"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
            if value is not None and value > MOST:
                raise ValueError(f"{name} must be at most {MOST:,}, got a number of {len(str(value))} digits")
        if self.steps is not None and self.epochs is not None:
            raise ValueError(f"give steps or epochs, not both (got steps={self.steps}, epochs={self.epochs})")
        if self.steps is None and self.epochs is None and self.seconds is None:
            raise ValueError("a recipe needs steps, epochs or seconds")
        if self.optimiser not in get_args(OptimiserName):
            raise ValueError(f"optimiser must be one of {', '.join(get_args(OptimiserName))}, got {self.optimiser!r}")
        if self.convention not in ("centres", "ends"):
            raise ValueError(f"convention must be 'centres' or 'ends', got {self.convention!r}")
        if self.precision not in get_args(Precision):
            raise ValueError(f"precision must be one of {', '.join(get_args(Precision))}, got {self.precision!r}")
        for name in NUMBERS:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
                raise ValueError(f"{name} must be a number, got {value!r}")
        for name in ("rate", "matrix_rate", "table_rate"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be positive, got {value}")
        for name in ("amplitude_rate", "frequency_rate", "phase_rate", "table_decay"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must not be negative, got {value}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1, got {self.momentum}")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"seconds must be positive, got {self.seconds}")
        if self.target_db is not None and not math.isfinite(self.target_db):
            raise ValueError(f"target_db must be finite, got {self.target_db}")
        if not isinstance(self.schedule, Schedule):
            raise TypeError(f"schedule must be Constant, Cosine or Exponential, got {self.schedule!r}")
        if self.freeze_activations_from is not None and self.optimiser == "learnt":
            raise ValueError("freeze_activations_from is for adam, muon and soap, got optimiser='learnt'")
        if self.freeze_activations_from is not None and self.freeze_activations_from < 0:
            raise ValueError(f"freeze_activations_from must not be negative, got {self.freeze_activations_from}")

    def total_steps(self, points: int) -> int | None:
        """How many steps this recipe takes on `points` points; None if only time limits it."""
        if self.epochs is not None:
            return self.epochs * math.ceil(points / self.batch_size(points))
        return self.steps

    def batch_size(self, points: int) -> int:
        """Points per step on a signal of `points` points."""
        return points if self.batch is None else min(self.batch, points)

    def replace(self, **changes: Any) -> Recipe:
        """A copy with some entries changed; giving `steps` drops `epochs` and the other way round."""
        if changes.get("steps") is not None:
            changes.setdefault("epochs", None)
        if changes.get("epochs") is not None:
            changes.setdefault("steps", None)
        return dataclasses.replace(self, **changes)

    def limited(self, *, steps: int | None, seconds: float | None, target_db: float | None) -> Recipe:
        """A copy with the limits that are given; the others stay as they are.

        >>> Recipe(steps=100).limited(steps=None, seconds=2.0, target_db=None).seconds
        2.0
        """
        given = {"steps": steps, "seconds": seconds, "target_db": target_db}
        return self.replace(**{name: limit for name, limit in given.items() if limit is not None})

    def to_plain(self) -> Document:
        """JSON-able data from which `from_plain` makes an equal recipe."""
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        data["schedule"] = schedules.to_plain(self.schedule)
        return {name: value for name, value in data.items() if name not in LATER or value != LATER[name]}

    @classmethod
    def from_plain(cls, data: Document) -> Recipe:
        """Rebuild a recipe, refusing entries it does not know."""
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise ValueError(f"a recipe has no entry {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        data = dict(data)
        if isinstance(data.get("schedule"), dict):
            data["schedule"] = schedules.from_plain(data["schedule"])
        return cls(**data)
