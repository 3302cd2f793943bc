"""The last good weights of a fit, and when it has diverged."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

from torch import Tensor, nn


@dataclass
class Keeper:
    """Keeps the last good weights, and decides when a fit has diverged.

    Diverged means: the loss is not finite, or over ten times its first value and over one (the square of the peak), or
    it stayed a hundred times above its best for `patience` steps (short spikes recover, and are left alone). The
    weights after a step are judged by the next loss, so a copy is a candidate until then.
    """

    patience: int
    first: float = math.nan
    best: float = math.inf
    best_step: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)
    candidate: dict[str, Tensor] = field(default_factory=dict)

    def start(self, module: nn.Module) -> None:
        self.candidate = copy.deepcopy(module.state_dict())
        if not self.weights:
            self.weights = self.candidate

    def look(self, step: int, losses: list[float], module: nn.Module) -> str | None:
        """Judge the losses of `step` and those after it; return what is wrong, or None."""
        if losses[0] <= self.best:
            self.best, self.best_step, self.weights = losses[0], step, self.candidate
        if math.isnan(self.first):
            self.first = losses[0]
        for loss in losses:
            if not math.isfinite(loss):
                return f"the loss became {loss}"
            if loss > max(10 * self.first, 1.0):
                return f"the loss rose from {self.first:.3g} to {loss:.3g}"
        last = step + len(losses) - 1
        if min(losses) > 100 * self.best and last - self.best_step > self.patience:
            return f"the loss stayed near {losses[-1]:.3g} after {self.best:.3g} at step {self.best_step}"
        self.candidate = copy.deepcopy(module.state_dict())
        return None
