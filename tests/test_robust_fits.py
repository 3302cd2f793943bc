"""Every signal that can be opened is planned and fitted by `staf.fit` without a number being given for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import staf
from staf.kinds import Audio
from staf.nn import NETWORKS

RNG = np.random.default_rng(0)
SAMPLES = np.arange(1500)
FLAT = "omega0 0.5 in the first layer, from the spectrum: it does not vary"
NOISE = "from the spectrum: detail as fine as noise, a mean wave of 2."


def pixels(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def wave(hertz: float) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * SAMPLES / 8000)


IMAGES = {
    "flat": (np.full((16, 16), 0.5, np.float32), FLAT),
    "black": (np.zeros((16, 16), np.uint8), FLAT),
    "white": (np.full((16, 16, 3), 255, np.uint8), FLAT),
    "single colour": (np.full((16, 16, 3), (200, 30, 90), np.uint8), FLAT),
    "noise": (pixels(24, 24, 3), NOISE),
    "1x1": (np.full((1, 1, 3), 77, np.uint8), FLAT),
    "2x2": (pixels(2, 2, 3), "omega0 0.5 in the first layer"),
    "one row": (pixels(1, 64), "omega0 2"),
    "very wide": (
        (100 * np.sin(np.arange(1500) / 9) + 128).astype(np.uint8)[None].repeat(2, 0),
        "a smooth picture, a mean wave of",
    ),
    "16-bit": ((RNG.random((24, 24)) * 65535).astype(np.uint16), NOISE),
    "alpha": (pixels(24, 24, 4), NOISE),
    "grey and alpha": (pixels(24, 24, 2), NOISE),
    "black and white": (RNG.random((24, 24)) > 0.5, NOISE),
    "far beyond [0, 1]": ((RNG.random((24, 24, 3)) * 1000 - 300).astype(np.float32), NOISE),
}
RECORDINGS = {
    "silence": (np.zeros(1500), "sines of up to 20 Hz, from the spectrum: it does not vary"),
    "constant": (np.full(1500, 0.3), "sines of up to 20 Hz, from the spectrum: it does not vary"),
    "clipped": (np.clip(3 * wave(440), -1, 1), "Hz, from the spectrum: its mean frequency is 8"),
    "quiet": (1e-4 * wave(440), "from the spectrum: its mean frequency is 4"),
    "noise": (RNG.uniform(-1, 1, (1500, 2)), "sines of up to 2,000 Hz, from the spectrum: its mean frequency is 2,0"),
    "one sample": (np.array([0.5]), "it does not vary"),
    "two samples": (np.array([0.5, -0.1]), "sines of up to 2,000 Hz"),
}


def check(fit: staf.Fit, sentence: str) -> None:
    assert fit.stopped == "finished"
    # A reconstruction that is exact once clamped has no finite PSNR.
    assert all(math.isfinite(value) or value == math.inf for value in fit.metrics.values())
    losses = fit.history.loss
    assert all(math.isfinite(loss) for loss in losses)
    # Black and silence are where a network starts, and the first steps lead away; all others must have gained.
    assert losses[-1] < max(losses[0], 0.06)
    assert any(sentence in reason for reason in fit.plan.reasons.values()), fit.plan.reasons


@pytest.mark.parametrize("name", IMAGES)
def test_images(name):
    array, sentence = IMAGES[name]
    fit = staf.fit(array, steps=5, progress=False)
    check(fit, sentence)
    assert fit.reconstruction.array.shape[:2] == array.shape[:2]
    pixels = array.shape[0] * array.shape[1]
    every = f"every step sees all {pixels:,} points" if pixels > 1 else "every step sees all that is observed"
    assert [every, "5 steps, as asked"] == list(fit.plan.reasons.values())[-2:]


@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings(name):
    samples, sentence = RECORDINGS[name]
    fit = staf.fit(Audio(samples, 8000), steps=5, progress=False)
    check(fit, sentence)
    assert fit.reconstruction.array.shape == (len(samples), fit.signal.out_features)
    assert fit.recipe.rate == NETWORKS["staf"].rates.full_batch * NETWORKS["staf"].rates.audio_factor


def test_a_flat_picture_becomes_flat():
    fit = staf.fit(np.full((8, 8, 3), (200, 30, 90), np.uint8), steps=60, progress=False)
    assert fit.metrics["psnr"] > 35
    between = fit.render(scale=3).array.astype(int)
    assert np.abs(between - (200, 30, 90)).mean() < 4


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused_before_training(bad):
    for source in (np.full((4, 4), bad, np.float32), Audio):
        with pytest.raises(staf.SignalError, match="number"):
            staf.fit(Audio(np.array([0.1, bad]), 8000) if source is Audio else source, steps=1, progress=False)


def test_budgets_end_a_fit():
    array = np.full((8, 8, 3), (200, 30, 90), np.uint8)
    one = staf.fit(array, steps=1, progress=False)
    assert (one.result.steps, one.stopped) == (1, "finished")
    timed = staf.fit(array, seconds=0.3, progress=False)
    assert timed.stopped == "the time is up"
    assert timed.result.seconds < 2
    assert any("over 0.3 seconds of training" in reason for reason in timed.plan.reasons.values())
    reached = staf.fit(array, target_db=15, progress=False)
    assert reached.stopped.startswith("reached ")
    assert reached.metrics["psnr"] >= 15
    assert reached.result.steps < 600
    assert "the fit ends early at 15 dB, confirmed over all points" in reached.plan.reasons.values()
