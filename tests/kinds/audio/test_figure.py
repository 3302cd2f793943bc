from __future__ import annotations

import numpy as np
import pytest

from staf.figures.style import new_figure
from staf.kinds.audio.figure import DYNAMIC_RANGE_DB, audio_comparison, draw_waveform, envelope, spectrogram


def wave(n: int = 6000) -> np.ndarray:
    return (np.sin(np.arange(n) * 0.3) * np.linspace(0.2, 1, n))[:, None]


def test_one_wrong_sample_shows():
    flat = np.zeros(100_000)
    flat[77_777] = 1
    time, low, high = envelope(flat, 1000)
    assert high.max() == 1
    assert abs(time[high.argmax()] - 77.7) < 0.1
    assert low.min() == 0


def test_a_tone_is_at_its_frequency_and_a_silence_is_finite():
    _, levels = spectrogram(np.sin(2 * np.pi * 0.1 * np.arange(5000)))
    assert abs(levels.mean(1).argmax() / 1024 - 0.1) < 1 / 1024
    assert np.isfinite(spectrogram(np.zeros(10))[1]).all()


def test_rows_share_their_scales():
    target = wave()
    figure = audio_comparison(target, {"near": target * 0.99, "far": target * 0.5}, rate=8000)
    near, far = figure.axes[4], figure.axes[7]
    assert near.get_ylim() == far.get_ylim() == pytest.approx((-0.525, 0.525), rel=0.01)
    assert figure.axes[3].get_title(loc="left") == "near"
    figure.canvas.draw()


def test_silence_is_drawn_dark():
    silence = np.zeros((6000, 1))
    figure = audio_comparison(silence, {"near": silence + 1e-6 * wave()}, rate=8000)
    for picture in (axes.images[0] for axes in figure.axes if axes.images):
        assert picture.get_array().max() < -DYNAMIC_RANGE_DB


def test_short_waves_are_drawn_sample_by_sample():
    axes = new_figure(2, 2).subplots()
    draw_waveform(axes, wave(50)[:, 0], 100, "black")
    assert np.array_equal(axes.lines[0].get_ydata(), wave(50)[:, 0])
    draw_waveform(axes, wave(1)[:, 0], 100, "black")
    assert [line.get_marker() for line in axes.lines] == ["", "."]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="at least one"):
        audio_comparison(wave(), {}, 8000)
    with pytest.raises(ValueError, match="'short' must have the target's shape"):
        audio_comparison(wave(), {"short": wave(10)}, 8000)
