from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.signal
import torch

from staf.metrics import log_spectral_distance


def noise(n: int = 6000, channels: int = 2, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, channels, generator=torch.Generator().manual_seed(seed))


def test_against_scipy():
    target, prediction = noise(), noise(seed=1)
    powers = []
    for wave in (prediction, target):
        frames = scipy.signal.stft(
            wave.T.numpy().astype(np.float64), window="hann", nperseg=1000, noverlap=750, boundary=None, padded=False
        )[2]
        powers.append(np.abs(frames) ** 2)
    floor = powers[1].max() * 1e-8
    levels = [10 * np.log10(np.maximum(power, floor)) for power in powers]
    expected = np.sqrt(((levels[0] - levels[1]) ** 2).mean(1)).mean()
    got = log_spectral_distance(prediction, target, window=1000, hop=250)
    assert float(got) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 100, 2048, 2049, 5000])
def test_any_length(n):
    wave = noise(n)
    assert log_spectral_distance(wave, wave) == 0
    assert log_spectral_distance(2 * wave, wave, floor_db=-300) == pytest.approx(20 * np.log10(2), rel=1e-6)


def test_the_last_samples_count():
    target = noise(2048 + 100)
    changed = target.clone()
    changed[-50:] += 1
    assert log_spectral_distance(changed, target) > 0


def test_what_lies_below_the_floor_has_no_part():
    loud = torch.sin(torch.arange(4096) * 0.5)[:, None]
    hiss = 1e-6 * noise(4096, 1)
    assert log_spectral_distance(loud + hiss, loud, floor_db=-60) < 0.01
    assert log_spectral_distance(loud + hiss, loud, floor_db=-200) > 1


def test_silence_against_silence():
    assert log_spectral_distance(torch.zeros(100, 1), torch.zeros(100, 1)) == 0


def test_blocks_of_frames_are_the_whole(monkeypatch):
    prediction, target = noise(), noise(seed=1)
    whole = log_spectral_distance(prediction, target)
    monkeypatch.setattr("staf.metrics.spectral_distance.FRAMES_AT_ONCE", 3)
    torch.testing.assert_close(log_spectral_distance(prediction, target), whole)


def test_mistakes_are_named():
    # Unwrapped, since the tests' own shape checks would refuse them first.
    with pytest.raises(ValueError, match="the same shape"):
        inspect.unwrap(log_spectral_distance)(noise(10), noise(11))
    with pytest.raises(ValueError, match="hop must be at least 1"):
        log_spectral_distance(noise(10), noise(10), hop=0)
    with pytest.raises(ValueError, match="floor_db must be negative"):
        log_spectral_distance(noise(10), noise(10), floor_db=0.0)
