"""`fit_windows`: fit a long recording with many small fields, trained together and joined without clicks."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from staf._documents import Record
from staf.api import FittedField, as_signal, load
from staf.kinds import Audio
from staf.kinds.audio.window_spans import Span, joined, spans
from staf.many.fitting import fit_many
from staf.metrics import log_spectral_distance
from staf.planning import Plan
from staf.signals import SignalError
from staf.storage import FieldFolder, FileError
from staf.training.history import decibels

WINDOWS = "windows.json"


class WindowedField:
    """The fields of overlapping windows of a recording; `signal` is the whole recording without its samples.

    >>> import staf
    >>> import numpy as np
    >>> audio = Audio(np.sin(np.arange(300) * 0.1), rate=100)
    >>> field = staf.fit_windows(audio, seconds=1.0, overlap=0.1, steps=1, progress=False).field
    >>> field, field.render(rate=50)
    (WindowedField(4 windows of 'audio'), Audio('audio', 150 samples at 50 Hz, mono))
    """

    def __init__(self, fields: Sequence[FittedField], windows: Sequence[Span], signal: Audio) -> None:
        if len(fields) != len(windows) or not fields:
            raise ValueError(
                f"fields and windows must have the same length, at least 1, got {len(fields)} and {len(windows)}"
            )
        self.fields, self.windows, self.signal = list(fields), list(windows), signal

    def __repr__(self) -> str:
        return f"WindowedField({len(self.fields)} windows of {self.signal.name!r})"

    def render(self, *, rate: int | None = None) -> Audio:
        """The whole recording at any rate, cross-faded where windows overlap."""
        rate = self.signal.rate if rate is None else rate
        if rate < 1:
            raise SignalError(f"rate must be at least 1 sample per second, got {rate}")
        predicts = [field.predict for field in self.fields]
        values = joined(self.windows, predicts, self.signal.out_features, rate / self.signal.rate)
        return self.signal.with_samples(values, rate)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write one file for each window, and then windows.json, which `load_windows` reads."""
        opened = FieldFolder(folder)
        for number, field in enumerate(self.fields):
            field.save(opened.file(_name(number)))
        _write_windows(opened, self.windows, self.signal)
        return opened.path


class WindowedFit:
    """The result of `fit_windows`: the field, its metrics over the whole recording, and those of each window."""

    def __init__(self, field: WindowedField, signal: Audio, window_metrics: list[dict[str, float]], notes: list[str]):
        self.field, self.signal, self.window_metrics = field, signal, window_metrics
        self.notes = [*signal.notes, *notes]
        self.reconstruction = field.render()
        fitted, target = (torch.from_numpy(audio.array / audio.peak) for audio in (self.reconstruction, signal))
        self.metrics = {
            "psnr": decibels(float((fitted.double() - target).square().mean())),
            "log_spectral_distance": float(log_spectral_distance(fitted, target)),
        }

    def __repr__(self) -> str:
        return f"WindowedFit({self.field!r}, psnr {self.metrics['psnr']:.4g})"

    def render(self, *, rate: int | None = None) -> Audio:
        """The whole recording at any rate."""
        return self.field.render(rate=rate)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the field to a folder; see `WindowedField.save`."""
        return self.field.save(folder)


def fit_windows(
    source: Any,
    *,
    seconds: float = 0.25,
    overlap: float = 0.01,
    plan: Plan | None = None,
    steps: int | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    at_once: int | None = None,
    progress: bool | None = None,
) -> WindowedFit:
    """Fit a recording of any length, with one small network for each window of about `seconds`.

    Neighbouring windows overlap by `overlap` seconds and are cross-faded there. Every window is divided by the peak of
    the whole recording. `plan` is the plan of a window, by default `plans.audio_window`. The other arguments are those
    of `fit_many`: with `out`, each window is written as soon as it is finished, and `resume` continues a stopped run.

    >>> import numpy as np
    >>> audio = Audio(np.sin(np.arange(300) * 0.1), rate=100)
    >>> fit_windows(audio, seconds=1.0, overlap=0.1, steps=1, progress=False).field.windows
    [(0, 83), (72, 155), (145, 228), (217, 300)]
    """
    from staf.kinds.audio.plan import audio_window

    audio = as_signal(source)
    if not isinstance(audio, Audio):
        raise SignalError(f"only audio is fitted in windows, got a signal of kind {audio.kind!r}")
    for name, value in (("seconds", seconds), ("overlap", overlap)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number, got {value}")
    windows = spans(audio.samples, round(seconds * audio.rate), round(overlap * audio.rate))
    parts = [audio.window(start, stop) for start, stop in windows]
    for number, part in enumerate(parts):
        part.name = _name(number)
    plan = plan or audio_window(parts[0], whole=audio, steps=1000 if steps is None else steps)
    if plan.recipe.convention != "centres":
        raise ValueError(f"windows need the convention 'centres' to be joined, got {plan.recipe.convention!r}")
    many = fit_many(
        parts,
        plan=plan,
        steps=steps,
        seed=seed,
        device=device,
        out=out,
        resume=resume,
        overwrite=overwrite,
        at_once=at_once,
        progress=progress,
    )
    names = [part.name for part in parts]
    fields = [many.fits[name].field if out is None else load(many.files[name]) for name in names]
    field = WindowedField(fields, windows, Audio.from_metadata(audio.metadata()))
    if out is not None:
        _write_windows(FieldFolder(out), windows, audio)
    notes = [f"window {name}: {sentence}" for name, sentence in many.failures.items()]
    return WindowedFit(field, audio, [many.metrics[name] for name in names], notes)


def load_windows(folder: str | os.PathLike[str]) -> WindowedField:
    """Open a field that `fit_windows(out=...)` or `save` wrote."""
    opened = FieldFolder(folder)
    try:
        described = Windows.of(opened.read_document(WINDOWS))
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"{opened.path / WINDOWS} does not describe the windows of a recording: {error}") from None
    fields = []
    for number in range(len(described.spans)):
        field = load(opened.file(_name(number)))
        if getattr(field.signal, "kind", None) != "audio" or field.signal.out_features != described.signal.out_features:
            raise FileError(f"{opened.file(_name(number))} is not the field of a window of this recording")
        fields.append(field)
    return WindowedField(fields, described.spans, described.signal)


@dataclass(frozen=True)
class Windows:
    """What `windows.json` says: the span of each window in samples, and the recording that they make up."""

    spans: list[Span]
    signal: Audio

    @classmethod
    def of(cls, document: Any) -> Windows:
        """The windows that a document describes; a ValueError where it describes none."""
        record = Record(document)
        signal = Audio.from_metadata(record.get("signal"))
        listed = record.get("windows")
        if not isinstance(listed, list) or not listed:
            raise ValueError("windows must be a list of spans")
        found = [Record({"window": span}).wholes("window", range(2, 3), most=signal.samples) for span in listed]
        windows = [(start, stop) for start, stop in found]
        starts, stops = [start for start, _ in windows], [stop for _, stop in windows]
        whole = starts[0] == 0 and stops[-1] == signal.samples and all(start < stop for start, stop in windows)
        # Each begins within the one before it and ends behind it.
        joined_up = all(
            before < start < end < stop
            for before, start, end, stop in zip(starts, starts[1:], stops, stops[1:], strict=False)
        )
        if not (whole and joined_up):
            raise ValueError(f"windows must cover the {signal.samples:,} samples one after the other, and overlap")
        return cls(windows, signal)


def _name(number: int) -> str:
    return f"{number:05d}"


def _write_windows(folder: FieldFolder, windows: Sequence[Span], signal: Audio) -> None:
    folder.write_document(WINDOWS, {"windows": [list(span) for span in windows], "signal": signal.metadata()})
