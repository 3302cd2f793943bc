"""What a callback sees of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from staf.training.history import History


@dataclass
class State:
    """A network after a group of steps; `stop(reason)` ends its training there, with those weights.

    Where several networks are trained together, a callback is called for each of them in turn: `network` counts them
    from 0, `name` is the name that the caller gave it, and `field` holds its present weights.

    A callback of a single fit that has a method `finish(module)` is called once more, before the field is measured: it
    may put other weights in place, and returns a sentence that says so. The state of a callback is part of a checkpoint
    if it is `callback_state.Stateful`.

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
