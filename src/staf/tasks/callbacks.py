"""Callbacks of a restoration: stop by held-out samples, and the best step in hindsight (oracle)."""

from __future__ import annotations

import copy
import math
from typing import Protocol

import torch
from torch import Tensor, nn

from staf.training.prediction import predictor
from staf.training.state import State
from staf.training.stepper import points_at_once
from staf.training.task import Predict


class HasHeldOut(Protocol):
    """A task with held-out samples."""

    def held_out_error(self, predict: Predict) -> float: ...


class HasTruth(Protocol):
    """A task that may know the true signal."""

    @property
    def truth(self) -> object | None: ...

    def psnr(self, predict: Predict) -> float: ...


class KeepBestHeldOut:
    """Keep the weights with the smallest error on held-out pixels, checked every `every` steps.

    Use it as a callback of `staf.fit` for a task with held-out pixels. With `patience`, the fit ends when this many
    steps have passed without a smaller error. Its state and the weights are saved in checkpoints.
    """

    def __init__(self, task: HasHeldOut, *, every: int = 20, patience: int | None = None) -> None:
        self.task, self.every, self.patience = task, _positive("every", every), patience
        if patience is not None:
            _positive("patience", patience)
        self.best, self.best_step = math.inf, 0
        self.errors: list[tuple[int, float]] = []
        self._weights: dict[str, Tensor] | None = None

    def __call__(self, state: State) -> None:
        if not _due(self.errors, state, self.every):
            return
        error = self.task.held_out_error(_predict(state.field))
        self.errors.append((state.step, error))
        if error < self.best:
            self.best, self.best_step = error, state.step
            self._weights = copy.deepcopy(state.field.state_dict())
        elif self.patience is not None and state.step - self.best_step >= self.patience:
            state.stop(f"held-out pixels have not improved since step {self.best_step}")

    def finish(self, module: nn.Module) -> str:
        """Load the kept weights."""
        if self._weights is None:
            return "the fit ended before held-out pixels were looked at: its last weights are kept"
        module.load_state_dict(self._weights)
        return f"the weights of step {self.best_step} are kept: the least error on held-out pixels"

    def tensors(self) -> dict[str, Tensor]:
        """The errors (n, 2) with their steps, and the kept weights."""
        weights = self._weights or {}
        return {"errors": _table(self.errors), **{f"weights/{name}": tensor for name, tensor in weights.items()}}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore what `tensors` returned."""
        errors = _rows(tensors["errors"])
        weights = {name.removeprefix("weights/"): tensor for name, tensor in tensors.items() if name != "errors"}
        best, best_step = min(((error, step) for step, error in errors if error < math.inf), default=(math.inf, 0))
        if bool(weights) != bool(best_step):
            raise ValueError(f"weights are kept of {best_step or 'no'} step, and there are {len(weights)} tensors")
        self.errors, self.best, self.best_step, self._weights = errors, best, best_step, weights or None


class Oracle:
    """The best PSNR against the truth at any step, checked every `every` steps: the papers' protocol.

    It does not change the fit; its PSNR is reported in addition to the metrics of the fit.
    """

    def __init__(self, task: HasTruth, *, every: int = 20) -> None:
        if task.truth is None:
            raise ValueError("an oracle needs the truth, and the task has none")
        self.task, self.every = task, _positive("every", every)
        self.psnr, self.step = -math.inf, 0
        self.seen: list[tuple[int, float]] = []

    def __call__(self, state: State) -> None:
        if not _due(self.seen, state, self.every):
            return
        psnr = self.task.psnr(_predict(state.field))
        self.seen.append((state.step, psnr))
        if psnr > self.psnr:
            self.psnr, self.step = psnr, state.step

    def tensors(self) -> dict[str, Tensor]:
        """What was seen (n, 2), with its steps."""
        return {"seen": _table(self.seen)}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore what `tensors` returned."""
        self.seen = _rows(tensors["seen"])
        psnr, before = max(((psnr, -step) for step, psnr in self.seen if psnr > -math.inf), default=(-math.inf, 0))
        self.psnr, self.step = psnr, -before


def _due(seen: list[tuple[int, float]], state: State, every: int) -> bool:
    last = seen[-1][0] if seen else 0
    return state.step - last >= every or state.step == state.steps


def _table(rows: list[tuple[int, float]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, 2)


def _rows(table: Tensor) -> list[tuple[int, float]]:
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"a table of steps and values must have shape (n, 2), got {tuple(table.shape)}")
    return [(int(step), value) for step, value in table.tolist()]


def _predict(field: nn.Module) -> Predict:
    device = next(field.parameters()).device
    return predictor(field, points_at_once(device))


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} must be at least 1 step, got {value}")
    return value
