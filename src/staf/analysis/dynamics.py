"""How the sinusoids move during a fit: change per step and drift from the start, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.analysis.spectrum import Array
from staf.nn import SineSeries
from staf.nn.sine_series import PARTS
from staf.training.state import State


@dataclass
class Dynamics:
    """Per record: `step` (r,), `loss` (r,), and for each part (amplitude, frequency, phase) two arrays (r, layers).

    `change` is the mean absolute change since the last record divided by the steps between them, `drift` the mean
    absolute distance from the first values. Parts that a layer does not train have no movement: zeros.
    """

    layers: list[str]
    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    change: dict[str, list[list[float]]] = field(default_factory=lambda: {part: [] for part in PARTS})
    drift: dict[str, list[list[float]]] = field(default_factory=lambda: {part: [] for part in PARTS})

    def arrays(self, kind: str) -> dict[str, Array]:
        """`change` or `drift` of each part, as arrays (records, layers)."""
        if kind not in ("change", "drift"):
            raise ValueError(f"kind must be 'change' or 'drift', got {kind!r}")
        rows: dict[str, list[list[float]]] = getattr(self, kind)
        return {part: np.array(rows[part], dtype=np.float64).reshape(-1, len(self.layers)) for part in PARTS}

    def early_share(self, until: int) -> dict[str, float]:
        """Of all the movement (sum of changes over steps and layers), the share made up to step `until`."""
        steps = np.array(self.step)
        lengths = np.diff(np.concatenate([[0], steps]))[:, None]
        shares = {}
        for part, change in self.arrays("change").items():
            moved = change * lengths
            total = float(moved.sum())
            shares[part] = float(moved[steps <= until].sum()) / total if total > 0 else 0.0
        return shares

    def to_plain(self) -> Document:
        """Lists and numbers, for a file."""
        return {"layers": self.layers, "step": self.step, "loss": self.loss, "change": self.change, "drift": self.drift}

    @classmethod
    def from_plain(cls, data: Document) -> Dynamics:
        return cls(**{key: data[key] for key in ("layers", "step", "loss", "change", "drift")})


class ParameterDynamics:
    """A callback that records how C, Omega and Phi move: `staf.fit(photo, callbacks=[recorder])`.

    Args:
        start: the field before training, from which drift is measured. Without it the first record is the start, which
            is after the first step (on a GPU, where callbacks run every 25 steps, after those).
        every: record at most every so many steps.

    >>> import numpy as np, staf
    >>> field = staf.staf(2, 1, width=8, depth=2)
    >>> recorder = ParameterDynamics(field)
    >>> picture = np.linspace(0, 1, 36, dtype=np.float32).reshape(6, 6)
    >>> fit = staf.fit(picture, field=field, steps=3, progress=False, device="cpu", callbacks=[recorder])
    >>> recorder.result.step, recorder.result.arrays("drift")["phase"].shape
    ([1, 2, 3], (3, 2))
    """

    def __init__(self, start: nn.Module | None = None, *, every: int = 1) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        self.every = every
        self._first = None if start is None else _snapshot(start)
        self._last = self._first
        self._last_step = 0
        self._result: Dynamics | None = None if self._first is None else Dynamics(list(self._first))

    @property
    def result(self) -> Dynamics:
        """What was recorded."""
        if self._result is None:
            raise ValueError("nothing was recorded: pass this recorder to staf.fit(..., callbacks=[recorder]) first")
        return self._result

    def __call__(self, state: State) -> None:
        """Record one step; called by the loop."""
        if self._last_step and state.step - self._last_step < self.every:
            return
        now = _snapshot(state.field)
        if self._first is None or self._last is None or self._result is None:
            self._first = self._last = now
            self._result = Dynamics(list(now))
        steps = max(1, state.step - self._last_step)
        self._result.step.append(state.step)
        self._result.loss.append(state.loss)
        for index, part in enumerate(PARTS):
            self._result.change[part].append([_distance(now[n][index], self._last[n][index]) / steps for n in now])
            self._result.drift[part].append([_distance(now[n][index], self._first[n][index]) for n in now])
        self._last, self._last_step = now, state.step


def _snapshot(module: nn.Module) -> dict[str, list[Tensor]]:
    """C, Omega and Phi of every sine series by its name."""
    found = {
        name: [getattr(part, kind).detach().to("cpu", torch.float64, copy=True) for kind in PARTS]
        for name, part in module.named_modules()
        if isinstance(part, SineSeries)
    }
    if not found:
        raise ValueError(f"the field has no SineSeries, so no sinusoids that move: {type(module).__name__}")
    return found


def _distance(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().mean())
