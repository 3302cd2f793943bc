"""The state of a fit that a callback gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from staf.training.history import History


@dataclass
class State:
    """A network after a group of steps; `stop(reason)` ends its training there, with those weights.

    If several networks are trained together, a callback is called for each of them: `network` counts them from 0,
    `name` is the given name, and `field` has the current weights.

    In a single fit, a method `finish(module)` of the callback is called once before the field is measured: it may
    replace the weights, and returns a sentence about this. The state of a callback is saved in checkpoints if it is
    `callback_state.Stateful`.

    >>> state = State(1, 10, 0.01, 20.0, 0.1, nn.Linear(2, 3), History())
    >>> state.stop("good enough")
    >>> state.stopped
    'good enough'
    """

    step: int
    steps: int | None
    loss: float
    psnr: float
    seconds: float
    field: nn.Module
    history: History
    stopped: str | None = None
    network: int = 0
    name: str = ""

    def stop(self, reason: str) -> None:
        self.stopped = reason

    def __setattr__(self, name: str, value: object) -> None:
        if name == "stop":
            raise AttributeError("State.stop is a method: call state.stop('the reason') to end the fit")
        super().__setattr__(name, value)


Callback = Callable[[State], None]
