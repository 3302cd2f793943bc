"""What the command line asks about recordings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from staf._documents import Document
from staf.kinds.options import Count, ExportKind, FitKind, Number, RenderKind
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.signals.base import Signal
    from staf.signals.grid import Convention


@dataclass(frozen=True, kw_only=True)
class Fit(FitKind):
    """Fit a field to a recording.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.wav, history.csv,
    metrics.json, config.json and report.html. Ctrl-C stops the training and writes the fit so far and
    a checkpoint, from which --resume continues; a second Ctrl-C exits at once.
    """


@dataclass(frozen=True, kw_only=True)
class Render(RenderKind):
    """Write a fitted recording, or a part of it, to a file at any sample rate."""

    rate: Count = None
    """Samples per second (default: those of the recording)."""
    start: Number = None
    """Start, in seconds."""
    stop: Number = None
    """Stop, in seconds."""

    def how(self, out: Path | None) -> Document:
        return {"rate": self.rate, "start": self.start or 0.0, "stop": self.stop}

    def ending(self, signal: Signal, how: Document, convention: Convention) -> str:
        from staf.kinds.audio.signal import Audio

        assert isinstance(signal, Audio)
        return f"-{self.rate or signal.rate}Hz.wav"


@dataclass(frozen=True, kw_only=True)
class Export(ExportKind):
    """Write a fitted recording as WAV, FLAC, OGG or MP3. It is never clipped.

    FIELD is the file of a field, a run folder, or a folder of fit-windows or fit-many, whose fields are all exported.
    """

    rate: Count = None
    """Samples per second (default: those of the recording)."""

    def how(self) -> Document:
        if self.rate is not None and self.rate < 1:
            raise SignalError(f"--rate must be at least 1 sample per second, got {self.rate}")
        return {"rate": self.rate}
