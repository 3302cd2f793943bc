"""Recordings and shapes side by side with what was fitted: waveforms one can hear, surfaces one can see."""

from __future__ import annotations

import base64
import io
import wave
from typing import TYPE_CHECKING

import numpy as np

from staf.figures.audio import DYNAMIC_RANGE_DB, spectrogram
from staf.kinds.shape.picture import draw
from staf.reports.pictures import data_uri, palette_uri
from staf.reports.svg import Chart, padded
from staf.reports.text import text

if TYPE_CHECKING:
    from staf.api import Fit

# Two clips of this size keep the page under 5 MB.
CLIP_BYTES = 1_200_000
ENVELOPE = 480
# Rows and columns of a spectrogram, at most.
SPECTRUM_SIZE = (128, 960)


def listen(fit: Fit) -> str:
    """Target, reconstruction and error of a recording: envelopes on one scale, and for the first two a spectrogram of
    the first channel and a 16-bit player."""
    target, fitted = fit.signal, fit.reconstruction
    error = fitted.array - target.array
    loudest = float(spectrogram(target.array[:, 0])[1].max())
    seconds = min(target.seconds, CLIP_BYTES / (2 * target.rate * target.out_features))
    rows = []
    for name, array, heard in (
        ("Target", target.array, True),
        ("Reconstruction", fitted.array, True),
        ("Error", error, False),
    ):
        player = ""
        if heard:
            player = (
                f'<audio controls preload="none" src="{clip_uri(array, target.rate, target.peak, seconds)}"></audio>'
            )
            player = spectrum(array[:, 0], target.rate, loudest, name) + player
        chart = waveform(array, target.rate, target.peak, name)
        rows.append(f"<figure><h3>{name}</h3>{chart}{player}</figure>")
    worst = float(np.abs(error).max()) / target.peak
    part = "" if seconds >= target.seconds else f"; the players hold the first {seconds:.1f} seconds"
    return (
        '<section><h2>Listen</h2><p class="explain">Lowest and highest sample of each moment, all channels together, '
        f"as shares of the peak, and the spectrogram of the first. The largest error is {worst:.3g} of the peak"
        f"{text(part)}.</p>"
        f'<div class="waves">{"".join(rows)}</div></section>'
    )


def see(fit: Fit) -> str:
    """The target's surface and the fitted one, drawn from the same side."""
    views = [("Target", fit.signal.mesh), ("Reconstruction", fit.reconstruction.mesh)]
    figures = "".join(
        f'<figure><h3>{name}</h3><img alt="{name}" width="512" height="512" '
        f'src="{data_uri(draw(mesh, bounds=fit.signal.mesh.bounds), None)}"></figure>'
        for name, mesh in views
    )
    return f'<section><h2>Look closer</h2><div class="pair shapes">{figures}</div></section>'


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


def spectrum(wave: np.ndarray, rate: int, loudest: float, label: str) -> str:
    """The spectrogram of a waveform (n,) as a picture: time to the right, up to half the rate, dB below `loudest`.

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
        f'src="{palette_uri(np.rint(255 * shown).astype(np.uint8))}"><figcaption class="fine">'
        f"0 to {rate / 2000:g} kHz, "
        f"black {DYNAMIC_RANGE_DB:g} dB below the target's loudest</figcaption></figure>"
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
