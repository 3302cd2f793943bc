"""The history of a fit, as plain data."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


def decibels(mean_squared_error: float, peak: float = 1.0) -> float:
    """PSNR of a mean squared error: 10 log10(peak^2 / mse); a perfect fit is infinite.

    >>> decibels(0.01)
    20.0
    """
    if mean_squared_error <= 0:
        return math.inf
    return 10 * math.log10(peak * peak / mean_squared_error) if math.isfinite(mean_squared_error) else -math.inf


@dataclass
class History:
    """One row per step: the loss before the step, the rate multiplier, and the seconds since the start."""

    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    multiplier: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def append(self, step: int, loss: float, multiplier: float, seconds: float) -> None:
        self.extend(step, [loss], [multiplier], seconds)

    def extend(self, first: int, losses: Sequence[float], multipliers: Sequence[float], seconds: float) -> None:
        """Append the rows of the steps from `first` on."""
        self.step.extend(range(first, first + len(losses)))
        self.loss.extend(losses)
        self.multiplier.extend(multipliers)
        self.seconds.extend([seconds] * len(losses))

    def __len__(self) -> int:
        return len(self.step)

    @property
    def psnr(self) -> list[float]:
        """Training PSNR of each step: of the batch seen, before its update, not clamped."""
        return [decibels(loss) for loss in self.loss]

    def to_plain(self) -> dict[str, list[Any]]:
        return {"step": self.step, "loss": self.loss, "multiplier": self.multiplier, "seconds": self.seconds}

    @classmethod
    def from_plain(cls, data: dict[str, list[Any]]) -> History:
        history = cls(**{key: list(data[key]) for key in ("step", "loss", "multiplier", "seconds")})
        if len({len(column) for column in history.to_plain().values()}) != 1:
            raise ValueError("a history's columns differ in length")
        return history

    def to_csv(self) -> str:
        """The rows with a header line; numbers in full precision."""
        out = io.StringIO()
        out.write("step,loss,psnr,multiplier,seconds\n")
        columns = (self.step, self.loss, self.psnr, self.multiplier, self.seconds)
        for step, loss, psnr, multiplier, seconds in zip(*columns, strict=True):
            out.write(f"{step},{loss!r},{psnr:.4f},{multiplier!r},{seconds:.4f}\n")
        return out.getvalue()
