"""Recordings beside their reconstructions: waveform, error, spectrogram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from staf.figures.palette import COLOURS, line_number
from staf.figures.style import new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 1200
SPECTRUM_WINDOW = 1024
DYNAMIC_RANGE_DB = 80.0
# Magnitudes below this are as good as zero.
SILENCE = 1e-10


def audio_comparison(target: np.ndarray, reconstructions: Mapping[str, np.ndarray], rate: int) -> Figure:
    """A row for the target and one for each reconstruction: waveform, error, spectrogram of the first channel.

    `target` and the reconstructions are (n, channels), divided by the target's peak. All errors share one scale, and
    all spectrograms one: decibels below the target's loudest, down to -80. The names become the rows' titles, so put
    a metric there to show it.

    >>> wave = np.sin(np.arange(2000) * 0.2)[:, None]
    >>> len(audio_comparison(wave, {"staf  40 dB": 0.99 * wave}, rate=8000).axes)
    7
    """
    if not reconstructions:
        raise ValueError("reconstructions must name at least one, got none")
    for name, wave in reconstructions.items():
        if wave.shape != target.shape:
            raise ValueError(f"reconstruction {name!r} must have the target's shape {target.shape}, got {wave.shape}")
    rows = {"target": target, **reconstructions}
    figure = new_figure(11.0, 1.9 * len(rows) + 0.4)
    grid = figure.subplots(len(rows), 3, squeeze=False, sharex="col")
    seconds = len(target) / rate
    largest = max(float(np.abs(wave - target).max()) for wave in reconstructions.values()) or 1e-9
    loudest = loudest_level(target[:, 0], 1.0)
    shown = None
    for row, (name, wave) in enumerate(rows.items()):
        colour = "black" if row == 0 else COLOURS[line_number(name, row - 1) % len(COLOURS)]
        left, middle, right = grid[row]
        draw_waveform(left, wave[:, 0], rate, colour)
        tidy(left, y="share of the peak", title=name)
        left.set_ylim(-1.05, 1.05)
        if row == 0:
            middle.set_visible(False)
        else:
            draw_waveform(middle, wave[:, 0] - target[:, 0], rate, colour)
            tidy(middle, title=f"error, largest {np.abs(wave - target).max():.2g}")
            middle.set_ylim(-1.05 * largest, 1.05 * largest)
        levels = spectrogram(wave[:, 0])[1] - loudest
        extent = (0.0, seconds, 0.0, rate / 2000)
        shown = right.imshow(
            levels, origin="lower", aspect="auto", cmap="magma", vmin=-DYNAMIC_RANGE_DB, vmax=0, extent=extent
        )
        tidy(right, y="kHz", title="spectrogram")
        right.grid(False)
    for axes in grid[-1]:
        axes.set_xlabel("seconds")
    assert shown is not None
    figure.colorbar(shown, ax=list(grid[:, 2]), label="dB below the loudest", fraction=0.05)
    return figure


def draw_waveform(axes: Axes, wave: np.ndarray, rate: int, colour: str) -> None:
    """A waveform (n,) against time; many samples are drawn as a band from the least to the largest of each stretch.

    Nothing is skipped, so that a single wrong sample still shows.
    """
    if len(wave) <= 2 * COLUMNS:
        # A single sample makes no line.
        marker = "." if len(wave) == 1 else ""
        axes.plot((np.arange(len(wave)) + 0.5) / rate, wave, color=colour, linewidth=0.8, marker=marker)
        return
    time, low, high = envelope(wave, rate)
    axes.fill_between(time, low, high, color=colour, linewidth=0.4)


def envelope(wave: np.ndarray, rate: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, least and largest value of some 1,200 stretches that make up a waveform (n,).

    >>> time, low, high = envelope(np.arange(2400.0), 100)
    >>> low[:2].tolist(), high[:2].tolist()
    ([0.0, 2.0], [1.0, 3.0])
    """
    starts = np.linspace(0, len(wave), COLUMNS, endpoint=False).astype(int)
    return starts / rate, np.minimum.reduceat(wave, starts), np.maximum.reduceat(wave, starts)


def loudest_level(wave: np.ndarray, peak: float) -> float:
    """The highest level of a waveform's spectrogram, in dB; of silence, that of a tone as high as `peak`.

    Silence has no loudest moment to measure from: against its own level it would be drawn like the loudest one.

    >>> round(loudest_level(np.zeros(2000), 1.0)), round(loudest_level(np.sin(np.pi / 8 * np.arange(2000)), 1.0))
    (48, 48)
    """
    if not wave.any():
        return 20 * float(np.log10(max(peak * np.hanning(frame_length(wave)).sum() / 2, SILENCE)))
    return float(spectrogram(wave)[1].max())


def frame_length(wave: np.ndarray) -> int:
    """Samples in a frame of a waveform's spectrogram."""
    return min(SPECTRUM_WINDOW, len(wave))


def spectrogram(wave: np.ndarray) -> tuple[int, np.ndarray]:
    """The hop, and levels in dB (frequencies, frames) of Hann-windowed frames of at most 1,024 samples.

    >>> hop, levels = spectrogram(np.sin(np.arange(8192) * 2 * np.pi * 0.25))
    >>> levels.shape, int(levels.mean(1).argmax()) / 1024
    ((513, 29), 0.25)
    """
    window = frame_length(wave)
    hop = max(1, window // 4, len(wave) // 4000)
    starts = np.arange(0, len(wave) - window + 1, hop)
    frames = wave[starts[:, None] + np.arange(window)] * np.hanning(window)
    power = np.abs(np.fft.rfft(frames)) ** 2
    return hop, 10 * np.log10(np.maximum(power, SILENCE**2)).T
