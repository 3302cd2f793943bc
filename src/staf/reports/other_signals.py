"""Recordings and shapes side by side with what was fitted: waveforms one can hear, surfaces one can see."""

from __future__ import annotations

import base64
import io
import wave
from typing import TYPE_CHECKING, Any

import numpy as np

from .pictures import data_uri
from .svg import Chart, padded
from .text import text

if TYPE_CHECKING:
    from ..api import Fit

# Two clips of this size keep the page under 5 MB.
CLIP_BYTES = 1_200_000
ENVELOPE = 480


def listen(fit: Fit) -> str:
    """Target, reconstruction and error of a recording: envelopes on one scale, and 16-bit players for the first two."""
    target, fitted = fit.signal, fit.reconstruction
    error = fitted.array - target.array
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
        chart = waveform(array, target.rate, target.peak, name)
        rows.append(f"<figure><h3>{name}</h3>{chart}{player}</figure>")
    worst = float(np.abs(error).max()) / target.peak
    part = "" if seconds >= target.seconds else f"; the players hold the first {seconds:.1f} seconds"
    return (
        '<section><h2>Listen</h2><p class="explain">Lowest and highest sample of each moment, all channels together, '
        f"as shares of the peak. The largest error is {worst:.3g} of it{text(part)}.</p>"
        f'<div class="waves">{"".join(rows)}</div></section>'
    )


def see(fit: Fit) -> str:
    """The target's surface and the fitted one, drawn from the same side."""
    views = [("Target", fit.signal), ("Reconstruction", fit.reconstruction)]
    figures = "".join(
        f'<figure><h3>{name}</h3><img alt="{name}" width="512" height="512" src="{_picture(shape)}"></figure>'
        for name, shape in views
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


def _picture(shape: Any) -> str:
    return data_uri(shape.picture(512).as_uint8(), None)
