"""How recordings are shown: waveforms, spectrograms and players in the report, samples and rate in the terminal."""

from __future__ import annotations

import base64
import io
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from staf._documents import Document, Entries
from staf._extras import need
from staf._messages import counted
from staf.kinds.audio.figure import DYNAMIC_RANGE_DB, audio_comparison, loudest_level, spectrogram
from staf.kinds.audio.files import FORMATS, check_format
from staf.kinds.audio.signal import Audio
from staf.reports.embedding import error_uri
from staf.reports.svg import Chart, padded
from staf.reports.text import text
from staf.signals.grid import Convention
from staf.signals.rendering import Predict
from staf.signals.value_transform import value_transform
from staf.signals.view import View
from staf.training.history import decibels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Two clips of this size keep the page under 5 MB.
CLIP_BYTES = 1_200_000
ENVELOPE = 480
# Rows and columns of a spectrogram, at most.
SPECTRUM_SIZE = (128, 960)


class AudioView(View[Audio]):
    """What is shown of a recording."""

    noun = "recording"

    @property
    def suffix(self) -> str:
        return ".wav"

    def suffixes(self) -> tuple[str, ...]:
        soundfile = need("audio", "soundfile")

        there = soundfile.available_formats()
        return tuple(suffix for suffix, format in FORMATS.items() if format in there)

    def page(self, convention: Convention) -> Document:
        return {"type": "sound", "rate": self.signal.rate}

    def baseline(self) -> tuple[str, float]:
        fitted = value_transform(self.signal).fitted(self.signal.values())
        return "silence", decibels(float(fitted.double().square().mean()))

    def comparison(self, reconstructions: Mapping[str, Audio]) -> Figure:
        target = self.signal
        waves = {title: audio.array / target.peak for title, audio in reconstructions.items()}
        return audio_comparison(target.array / target.peak, waves, target.rate)

    def report_section(self, reconstruction: Audio) -> str:
        """Target, reconstruction and error: envelopes on one scale, and for the first two a spectrogram of the first
        channel and a 16-bit player."""
        target = self.signal
        if reconstruction.shape != target.shape:
            return ""
        error = reconstruction.array - target.array
        loudest = loudest_level(target.array[:, 0], target.peak)
        below = "the target's loudest" if target.array[:, 0].any() else "a tone as high as the peak"
        seconds = min(target.seconds, CLIP_BYTES / (2 * target.rate * target.out_features))
        rows = []
        for name, array, heard in (
            ("Target", target.array, True),
            ("Reconstruction", reconstruction.array, True),
            ("Error", error, False),
        ):
            player = ""
            if heard:
                clip = clip_uri(array, target.rate, target.peak, seconds)
                player = spectrum(array[:, 0], target.rate, loudest, name, below)
                player += f'<audio controls preload="none" src="{clip}"></audio>'
            chart = waveform(array, target.rate, target.peak, name)
            rows.append(f"<figure><h3>{name}</h3>{chart}{player}</figure>")
        worst = float(np.abs(error).max()) / target.peak
        part = "" if seconds >= target.seconds else f"; the players hold the first {seconds:.1f} seconds"
        return (
            '<section><h2>Listen</h2><p class="explain">Lowest and highest sample of each moment, all channels '
            "together, as shares of the peak, and the spectrogram of the first channel. The largest error is "
            f"{worst:.3g} of the peak{text(part)}.</p>"
            f'<div class="waves">{"".join(rows)}</div></section>'
        )

    def render_points(self, how: Entries, convention: Convention) -> int:
        return round(self.signal.seconds * (how.get("rate") or self.signal.rate))

    def write(
        self, predict: Predict, path: Path, how: Entries, *, convention: Convention, device: str
    ) -> dict[str, int]:
        check_format(path, self.signal.out_features, how.get("rate") or self.signal.rate)
        sound = self.signal.render(predict, convention=convention, device=device, **how)
        sound.save(path)
        return {"samples": sound.samples, "rate": sound.rate}

    def size_in_words(self, size: Mapping[str, int]) -> str:
        return f"{counted(size['samples'], 'sample')} at {size['rate']:,} Hz"


def waveform(array: np.ndarray, rate: int, peak: float, label: str) -> str:
    """The envelope of samples (n, channels) over time, from -peak to peak.

    >>> waveform(np.zeros((10, 1), np.float32), 8000, 1.0, "silence").startswith("<svg")
    True
    """
    groups = np.array_split(np.arange(len(array)), min(ENVELOPE, len(array)))
    low = np.array([array[group].min() for group in groups]) / peak
    high = np.array([array[group].max() for group in groups]) / peak
    middle = np.array([group.mean() for group in groups]) / rate
    # A sample is a point: without some thickness a quiet moment would vanish.
    thin = 0.004
    chart = Chart(
        960, 130, (0.0, len(array) / rate), padded(np.array([-1.0, 1.0]), 0.05), "seconds", "", label, ticks=4
    )
    chart.band(middle, low - thin, high + thin, "solid")
    return chart.render()


def spectrum(wave: np.ndarray, rate: int, loudest: float, label: str, below: str = "the target's loudest") -> str:
    """The spectrogram of a waveform (n,) as a picture: time to the right, up to half the rate, dB below `loudest`.

    `below` says what `loudest` is.

    >>> spectrum(np.ones(64), 8000, 0.0, "ones").startswith("<figure")
    True
    """
    levels = spectrogram(wave)[1][::-1]
    for axis, most in enumerate(SPECTRUM_SIZE):
        # The loudest of neighbours, so that a single note still shows.
        starts = np.unique(np.linspace(0, levels.shape[axis], most, endpoint=False).astype(int))
        levels = np.maximum.reduceat(levels, starts, axis=axis)
    shown = np.clip((levels - loudest) / DYNAMIC_RANGE_DB + 1, 0, 1)
    height, width = shown.shape
    return (
        f'<figure class="spectrum"><img alt="{label}: spectrogram" width="{width}" height="{height}" '
        f'src="{error_uri(np.rint(255 * shown).astype(np.uint8))}"><figcaption class="fine">'
        f"0 to {rate / 2000:g} kHz, "
        f"black {DYNAMIC_RANGE_DB:g} dB below {below}</figcaption></figure>"
    )


def clip_uri(array: np.ndarray, rate: int, peak: float, seconds: float) -> str:
    """The first `seconds` of samples (n, channels) as a WAV of 16 bits, scaled to the peak, as a data URI."""
    part = np.clip(array[: max(1, int(seconds * rate))] / peak, -1, 1)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(part.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.rint(part * 32767).astype("<i2").tobytes())
    return "data:audio/wav;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
