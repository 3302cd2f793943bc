"""Audio: a waveform with its sample rate, as values along one axis."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from staf._documents import Document, Entries, Record
from staf.kinds.plain_arrays import plain_array
from staf.metrics import log_spectral_distance
from staf.signals.base import Signal, as_array
from staf.signals.errors import NoSamples, SignalError
from staf.signals.grid import Convention
from staf.signals.rendering import RENDER_POINTS, Predict
from staf.tasks import Reconstruction
from staf.training.history import decibels

if TYPE_CHECKING:
    from staf.kinds.audio.view import AudioView
    from staf.planning.situation import Rule

CHANNELS = {1: "mono", 2: "stereo"}
MOST_CHANNELS = 64
# Samples per second that a file can name.
FASTEST = 2**31 - 1


class Audio(Signal):
    """A recording with one or more channels, stored as float32 samples in [-1, 1].

    Floating-point files may exceed this range. A field is fitted to the samples divided by the peak, so values are in
    [-1, 1] and the PSNR is -10 log10 MSE, as in the paper. `value_range` is (-peak, peak).

    Args:
        samples: (n,) or (n, channels), any real type; integers are divided by the magnitude of their lowest value.
        rate: samples per second.
        peak: the largest magnitude; by default that of the samples. A window of a recording uses that of the recording.
        subtype: the libsndfile name for how a file stores a sample ("PCM_16", "FLOAT"); used when it is written.

    >>> audio = Audio(np.array([0, 16384, -8192], np.int16), rate=8000, name="click")
    >>> audio, audio.peak
    (Audio('click', 3 samples at 8000 Hz, mono), 0.5)
    >>> audio.values().squeeze(-1).tolist()
    [0.0, 0.5, -0.25]
    """

    kind = "audio"
    in_features = 1

    def __init__(
        self,
        samples: np.ndarray,
        rate: int,
        *,
        name: str = "audio",
        source: str | None = None,
        peak: float | None = None,
        subtype: str = "PCM_16",
        notes: Sequence[str] = (),
    ) -> None:
        array = _checked(samples)
        self._array: np.ndarray | None = array
        self.samples, self.out_features = array.shape
        self.rate = _checked_rate(rate)
        own = float(np.abs(array).max())
        if peak is not None and not (math.isfinite(peak) and peak > 0 and own <= peak):
            raise SignalError(f"peak must be a positive number, not below the samples' own {own:g}, got {peak}")
        # Silence has no peak to be divided by, and is zero on any scale.
        self.peak = (own or 1.0) if peak is None else float(peak)
        self.name = name
        self.source = source
        self.subtype = subtype
        self.notes = list(notes)
        if peak is None and own == 0:
            self.notes.append("the audio is silent: every sample is zero")

    def __repr__(self) -> str:
        channels = CHANNELS.get(self.out_features, f"{self.out_features} channels")
        empty = ", no samples" if self._array is None else ""
        return f"Audio({self.name!r}, {self.samples} samples at {self.rate} Hz, {channels}{empty})"

    @property
    def array(self) -> np.ndarray:
        """The samples, float32 (n, channels)."""
        if self._array is None:
            raise NoSamples(f"audio {self.name!r} was rebuilt from metadata and holds no samples: it can only render")
        return self._array

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        return as_array(self.array, dtype, copy)

    @property
    def shape(self) -> tuple[int]:
        return (self.samples,)

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.samples / self.rate

    @property
    def value_range(self) -> tuple[float, float]:
        return (-self.peak, self.peak)

    @property
    def value_offset_scale(self) -> tuple[float, float]:
        """A field fits value / peak."""
        return (0.0, self.peak)

    def coordinate_units(self, convention: Convention = "centres") -> tuple[float]:
        """Seconds that one unit of the coordinate spans.

        >>> Audio(np.ones(8000, np.float32), rate=8000).coordinate_units()
        (0.5,)
        """
        return ((self.samples if convention == "centres" else max(1, self.samples - 1)) / self.rate / 2,)

    def values(self) -> Tensor:
        """The samples, float32 (n, channels)."""
        return torch.from_numpy(self.array.copy())

    def window(self, start: int, stop: int) -> Audio:
        """Samples start to stop as separate audio with the same peak; it can be silent.

        >>> Audio(np.array([0, 0, 1], np.float32), rate=8000).window(0, 2).value_range
        (-1.0, 1.0)
        """
        if not 0 <= start < stop <= self.samples:
            raise SignalError(f"a window must lie in [0, {self.samples}] and not be empty, got [{start}, {stop})")
        return self.with_samples(self.array[start:stop], self.rate)

    def with_samples(self, array: np.ndarray, rate: int) -> Audio:
        """Other samples (n, channels) with the same name, peak and subtype, limited to the peak."""
        held = np.clip(array, -self.peak, self.peak)
        return Audio(held, rate, name=self.name, peak=self.peak, subtype=self.subtype)

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Audio:
        """The audio whose `values()` are `values` (n, channels), limited to the peak."""
        expected = (*(self.shape if shape is None else shape), self.out_features)
        if tuple(values.shape) != expected:
            raise SignalError(f"values must have shape {expected}, got {tuple(values.shape)}")
        return self.with_samples(values.detach().float().cpu().numpy(), self.rate)

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this kind of signal to the rules of planning, by topic."""
        from staf.kinds.audio.plan import RULES

        return RULES

    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> Audio:
        array = values.detach().float().cpu().numpy()
        peak = max(self.peak, float(np.abs(array).max()))
        return Audio(array, self.rate, name=self.name, peak=peak, subtype=self.subtype)

    def metadata(self) -> Document:
        """JSON-able data from which `from_metadata` builds empty audio that renders like this."""
        return {
            "kind": self.kind,
            "name": self.name,
            "shape": [self.samples],
            "channels": self.out_features,
            "rate": self.rate,
            "peak": self.peak,
            "subtype": self.subtype,
            "notes": list(self.notes),
        }

    @classmethod
    def from_metadata(cls, metadata: Entries) -> Audio:
        """The empty audio that `metadata` describes: everything but samples.

        >>> Audio.from_metadata(Audio(np.ones((4, 2)), rate=44100).metadata())
        Audio('audio', 4 samples at 44100 Hz, stereo, no samples)
        """
        try:
            record = Record(metadata)
            (samples,) = record.grid("shape", range(1, 2))
            channels, peak = record.whole("channels", least=1, most=MOST_CHANNELS), record.number("peak")
            name, subtype = record.text("name"), record.text("subtype")
            rate, notes = record.whole("rate", least=1, most=FASTEST), record.texts("notes")
        except ValueError as error:
            raise SignalError(f"metadata of audio is incomplete or malformed: {error}") from error
        if not peak > 0:
            raise SignalError(f"metadata describes no audio: its peak is {peak}")
        audio = cls.__new__(cls)
        audio._array = None
        audio.samples, audio.out_features, audio.rate, audio.peak = samples, channels, rate, peak
        audio.name, audio.source, audio.subtype, audio.notes = name, None, subtype, notes
        return audio

    def render(
        self,
        predict: Predict,
        *,
        rate: int | None = None,
        start: float = 0.0,
        stop: float | None = None,
        convention: Convention = "centres",
        chunk: int = RENDER_POINTS["cpu"],
        device: torch.device | str | None = None,
    ) -> Audio:
        """The field `predict`, coordinates (n, 1) to values (n, c), as audio at any `rate`, from `start` to `stop` s.

        >>> short = Audio(np.ones(4, np.float32), rate=8)
        >>> short.render(lambda x: x, rate=16).array[:, 0].tolist()
        [-0.875, -0.625, -0.375, -0.125, 0.125, 0.375, 0.625, 0.875]
        """
        rate = self.rate if rate is None else _checked_rate(rate)
        stop = self.seconds if stop is None else stop
        if not 0 <= start < stop <= self.seconds * (1 + 1e-9):
            raise SignalError(f"start and stop must lie in [0, {self.seconds:g}] s in this order, got {start}, {stop}")
        first, last = start * self.rate, min(stop * self.rate, float(self.samples))
        points = _positions(self.samples, first, last, rate / self.rate, convention)[:, None]
        count, parts = len(points), []
        with torch.no_grad():
            for begin in range(0, count, chunk):
                parts.append(predict(points[begin : begin + chunk].to(device)).float().cpu())
        values = torch.cat(parts)
        if tuple(values.shape) != (count, self.out_features):
            raise SignalError(
                f"predict must return values of shape ({count}, {self.out_features}), got {tuple(values.shape)}"
            )
        return self.with_samples(values.numpy(), rate)

    def task(self, convention: Convention = "centres") -> Reconstruction:
        return Reconstruction(self, convention)

    def measures(self, prediction: Tensor, target: Tensor) -> dict[str, float]:
        """PSNR with peak 1, and the log-spectral distance in dB."""
        return {
            "psnr": decibels(float((prediction.double() - target.double()).square().mean())),
            "log_spectral_distance": float(log_spectral_distance(prediction, target)),
        }

    @property
    def view(self) -> AudioView:
        from staf.kinds.audio.view import AudioView

        return AudioView(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the audio in the format of the suffix (WAV, FLAC, OGG, MP3), completely or not at all.

        Samples are never clipped: values beyond the range of integers are written to WAV as floats, and are an error
        for FLAC, OGG and MP3.
        """
        from staf.kinds.audio.files import write_audio

        return write_audio(self, path)


def _positions(size: int, first: float, last: float, per_sample: float, convention: Convention) -> Tensor:
    """Coordinates of new samples over the old samples [first, last), `per_sample` new ones for each.

    Their spacing is exact: a length that is no whole number of new samples is rounded, never stretched.
    """
    if convention == "ends":
        count = int((last - 1 - first) * per_sample + 1e-6) + 1
        at = first + torch.arange(max(1, count), dtype=torch.float64) / per_sample
        return (2 * at / max(1, size - 1) - 1).float()
    count = max(1, round((last - first) * per_sample))
    at = first + (torch.arange(count, dtype=torch.float64) + 0.5) / per_sample
    return (2 * at / size - 1).float()


def _checked(samples: np.ndarray) -> np.ndarray:
    """Samples as finite float32 (n, channels)."""
    array = plain_array(samples, "samples")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise SignalError(f"samples must have shape (n,) or (n, channels), got {array.shape}")
    if array.shape[0] == 0:
        raise SignalError("the audio has no samples: its length is zero")
    if not 1 <= array.shape[1] <= MOST_CHANNELS:
        raise SignalError(
            f"audio has 1 to {MOST_CHANNELS} channels in the last axis of (n, channels), got {array.shape}"
        )
    if array.dtype.kind == "i":
        array = array / -float(np.iinfo(array.dtype).min)
    elif array.dtype.kind != "f":
        raise SignalError(f"samples must be signed integers or floats, got {array.dtype}")
    if not np.isfinite(array).all():
        raise SignalError(f"samples must be numbers, got {int((~np.isfinite(array)).sum())} NaN or infinite")
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float32, order="C")
    if not np.isfinite(narrow).all():
        raise SignalError(f"samples must fit in float32, got {float(np.abs(array).max()):g}")
    return narrow


def _checked_rate(rate: object) -> int:
    if not isinstance(rate, (int, np.integer)) or isinstance(rate, bool) or rate < 1:
        raise SignalError(f"rate must be a whole number of samples per second, at least 1, got {rate!r}")
    return int(rate)
