"""Fits in TensorBoard: curves, learnt sinusoids, pictures and sounds."""

from __future__ import annotations

import io
import os
import time
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from staf._extras import need
from staf.nn import parameter_roles
from staf.signals.value_transform import value_transform
from staf.training.history import decibels
from staf.training.state import State

CHUNK = 2**16
FLUSH_SECONDS = 2.0


class TensorBoard:
    """A callback of `staf.fit` that writes to a folder for `tensorboard --logdir FOLDER`.

    Loss and PSNR are written for every step; the amplitudes, frequencies and phases of the activations, and with
    `signal` a picture of an image or shape, or the sound of a recording, every `interval` seconds and after the last
    step; less often where they take more than a tenth of the time.

    Args:
        folder: where the files of this run go; one folder for each run.
        signal: what is fitted, for pictures.
        convention: that of the fit.
        interval: seconds between two pictures, at least.

    >>> import numpy as np, staf, tempfile
    >>> picture = np.zeros((8, 8, 3), np.uint8)
    >>> with TensorBoard(tempfile.mkdtemp(), staf.open(picture)) as board:
    ...     fit = staf.fit(picture, staf.siren(2, 3, width=8), steps=3, progress=False, callbacks=board)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        signal: Any = None,
        *,
        convention: str = "centres",
        interval: float = 10.0,
    ) -> None:
        need("track", "tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        self.signal, self.convention, self.interval = signal, convention, interval
        self.writer = SummaryWriter(os.fspath(folder))
        # Other kinds, such as scenes, take long to render.
        self._drawable = hasattr(signal, "_repr_png_") or hasattr(signal, "rate")
        self._rows = 0
        self._next = time.monotonic() + interval
        self._flushed = time.monotonic()

    def __call__(self, state: State) -> None:
        """Called by the fit after a group of steps."""
        history = state.history
        for row in range(self._rows, len(history)):
            step = history.step[row]
            self.writer.add_scalar("loss", history.loss[row], step)
            self.writer.add_scalar("psnr", min(decibels(history.loss[row]), 300.0), step)
            self.writer.add_scalar("rate", history.multiplier[row], step)
        self._rows = len(history)
        last = state.step == state.steps or state.stopped is not None
        if last or time.monotonic() >= self._next:
            began = time.monotonic()
            self._write_activations(state.field, state.step)
            if self._drawable:
                self._write_signal(state.field, state.step)
            # Pictures must not cost more than a tenth of the training.
            self._next = time.monotonic() + max(self.interval, 10 * (time.monotonic() - began))
        if last or time.monotonic() > self._flushed + FLUSH_SECONDS:
            self.writer.flush()
            self._flushed = time.monotonic()

    def _write_activations(self, module: nn.Module, step: int) -> None:
        roles = parameter_roles(module)
        for name, parameter in module.named_parameters():
            if roles[name] in ("amplitude", "frequency", "phase"):
                self.writer.add_histogram(name, parameter.detach().float().cpu(), step)

    def _write_signal(self, module: nn.Module, step: int) -> None:
        drawn = self.signal.render(_predictor(module, self.signal), convention=self.convention)
        if rate := getattr(drawn, "rate", None):
            sound = torch.from_numpy(np.asarray(drawn.array).T / max(drawn.peak, 1e-9))
            self.writer.add_audio("fit", sound.mean(0, keepdim=True), step, sample_rate=rate)
        elif png := getattr(drawn, "_repr_png_", lambda: None)():
            import PIL.Image

            pixels = np.array(PIL.Image.open(io.BytesIO(png)).convert("RGB"))
            self.writer.add_image("fit", pixels, step, dataformats="HWC")

    def close(self) -> None:
        self.writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _predictor(module: nn.Module, signal: Any) -> Any:
    """Values in the signal's own units at coordinates, without gradients, a chunk at a time."""
    parameter = next(module.parameters())
    values = value_transform(signal).values

    def predict(coordinates: Tensor) -> Tensor:
        parts = coordinates.to(parameter.device, parameter.real.dtype).split(CHUNK)
        with torch.no_grad():
            return torch.cat([values(module(part)) for part in parts])

    return predict
