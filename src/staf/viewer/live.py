"""A fit seen in the browser while it trains: picture, error, curve, activations, and a button that stops it."""

from __future__ import annotations

import json
import math
import threading
import time
import webbrowser
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from torch import nn

from staf._documents import Document
from staf.export.meaning import Exportable
from staf.signals.base import Signal
from staf.signals.grid import Convention
from staf.viewer.page import page
from staf.viewer.server import ViewServer
from staf.viewer.shown import Announcement, field_bytes

CURVE_POINTS = 400
WAITING_SECONDS = 1.0
WAITING = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="1">'
    '<link rel="icon" href="data:,">'
    "<title>Waiting for the first step</title></head><body><p>Waiting for the first step of the fit.</p></body></html>"
)


class Losses(Protocol):
    """The history of a fit."""

    @property
    def loss(self) -> list[float]: ...


class State(Protocol):
    """What a callback of a fit is called with."""

    @property
    def step(self) -> int: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def loss(self) -> float: ...
    @property
    def psnr(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def field(self) -> nn.Module: ...
    @property
    def history(self) -> Losses: ...

    def stop(self, reason: str) -> None: ...


@dataclass(frozen=True)
class Snapshot:
    """A module and what its coordinates and values mean, as a `FittedField` has them."""

    module: nn.Module
    metadata: Document
    convention: Convention
    signal: Signal


class LiveView:
    """A callback of `staf.fit` that shows the fit in the browser: `staf.fit(photo, callbacks=LiveView(photo))`.

    Args:
        signal: what is fitted; its kind decides what the page shows.
        convention: that of the fit.
        interval: seconds between two pictures, at least.
        browse: whether to open the browser; `address` is where the page is.

    >>> import numpy as np, staf
    >>> from staf.kinds import Image
    >>> picture = Image(np.zeros((4, 4), np.uint8))
    >>> with LiveView(picture, browse=False) as live:
    ...     fit = staf.fit(picture, staf.siren(2, 1, width=8), steps=2, progress=False, callbacks=live)
    """

    def __init__(
        self, signal: Signal, *, convention: Convention = "centres", interval: float = 1.0, browse: bool = True
    ) -> None:
        self.signal, self.convention, self.interval = signal, convention, interval
        self.metadata: Document = {"signal": signal.metadata(), "convention": convention}
        self.name = str(signal.name)
        self._announcement = Announcement()
        self._lock = threading.Lock()
        self._first = threading.Event()
        self._page, self._field, self._told = "", b"", {"running": True}
        self._watchers = 0
        self._stop = False
        self._next = 0.0
        self.server = ViewServer([self])
        self.address = self.server.address
        if browse:
            webbrowser.open(self.address)

    def __call__(self, state: State) -> None:
        """Called by the fit after a group of steps."""
        if self._stop:
            state.stop("stopped in the viewer; the weights are kept")
        last = self._stop or state.step == state.steps
        if not last and (time.monotonic() < self._next or (self._watchers == 0 and self._first.is_set())):
            return
        # Taking a picture must not cost more than a tenth of the training.
        began = time.monotonic()
        self._take(state.field, self._progress(state))
        self._next = time.monotonic() + max(self.interval, 10 * (time.monotonic() - began))

    def done(self, field: Exportable) -> None:
        """Show the field that the fit ended with."""
        metrics = {name: value for name, value in (field.metadata.get("metrics") or {}).items() if math.isfinite(value)}
        told = {**self._told, "running": False, "metrics": metrics}
        self._take(field.module, told)

    def _take(self, module: nn.Module, told: Document) -> None:
        snapshot = Snapshot(module, self.metadata, self.convention, self.signal)
        data = field_bytes(snapshot)
        text = self._page or page(snapshot, served=True)
        with self._lock:
            self._page, self._field, self._told = text, data, told
        self._first.set()
        self._announcement.announce()

    def _progress(self, state: State) -> Document:
        losses = state.history.loss
        every = max(1, -(-len(losses) // CURVE_POINTS))
        curve = [round(-10 * math.log10(min(max(loss, 1e-30), 1e30)), 3) for loss in losses[::every]]
        return {
            "running": True,
            "step": state.step,
            "steps": state.steps,
            # JSON has no infinity.
            "loss": min(state.loss, 1e30),
            "psnr": max(-300.0, min(state.psnr, 300.0)),
            "seconds": state.seconds,
            "curve": curve,
            "curveEvery": every,
        }

    def page(self) -> str:
        # The browser may be quicker than the first step, for which kernels may have to be compiled.
        if not self._first.wait(WAITING_SECONDS):
            return WAITING
        with self._lock:
            return self._page

    def field(self) -> bytes:
        self._first.wait(60.0)
        with self._lock:
            return self._field

    def original(self) -> bytes | None:
        return original_of(self.signal)

    def wait(self, version: int) -> tuple[int, Document]:
        self._watchers += 1
        try:
            now = self._announcement.wait(version, 2.0)
        finally:
            self._watchers -= 1
        with self._lock:
            return now, {"live": True, **self._told}

    def stop(self) -> bool:
        self._stop = True
        return True

    def close(self) -> None:
        self.server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def original_of(signal: object) -> bytes | None:
    """The pixels of an image as a page reads them: width, height and channels as JSON, then 8 bits a sample.

    >>> from staf.kinds import Image
    >>> original_of(Image(np.zeros((2, 3), np.uint8)))[4:44]
    b'{"width": 3, "height": 2, "channels": 1}'
    """
    if not hasattr(signal, "as_uint8"):
        return None
    pixels = np.ascontiguousarray(signal.as_uint8())
    head = json.dumps({"width": pixels.shape[1], "height": pixels.shape[0], "channels": pixels.shape[2]}).encode()
    head += b" " * (-len(head) % 4)
    return len(head).to_bytes(4, "little") + head + pixels.tobytes()
