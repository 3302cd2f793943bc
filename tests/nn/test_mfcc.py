"""MFCCs against an independent computation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.fft import dct
from scipy.signal import get_window

from staf.nn.mfcc import mel_filters, mfcc


def oracle(signal: np.ndarray, rate: int) -> np.ndarray:
    """Frame by frame in numpy, the mel triangles by interpolation."""
    window = get_window("hann", 400, fftbins=True)
    frames = [signal[i : i + 400] * window for i in range(0, len(signal) - 399, 160)]
    power = np.abs(np.fft.rfft(np.array(frames), axis=-1)) ** 2
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, 52) / 2595) - 1)
    bins = np.linspace(0, rate / 2, 201)
    mels = np.array([np.interp(bins, edges[i : i + 3], [0, 1, 0], left=0, right=0) for i in range(50)])
    decibels = 10 * np.log10(np.maximum(power @ mels.T, 1e-10))
    decibels = np.maximum(decibels, decibels.max() - 80)
    return dct(decibels, norm="ortho", axis=-1).mean(0)


@pytest.mark.parametrize("rate", [8000, 44100])
def test_equals_the_oracle(rate: int, generator: torch.Generator) -> None:
    signal = torch.rand(3000, generator=generator, dtype=torch.float64) - 0.5
    assert np.allclose(mfcc(signal[None], rate).numpy(), oracle(signal.numpy(), rate), atol=1e-9)


def test_channels_are_averaged_and_short_sounds_padded(generator: torch.Generator) -> None:
    signal = torch.rand(1, 900, generator=generator)
    assert torch.allclose(mfcc(signal.repeat(2, 1), 16000), mfcc(signal, 16000))
    assert torch.isfinite(mfcc(signal[:, :10], 16000)).all()


def test_filters_are_triangles() -> None:
    filters = mel_filters(201, 20, 16000)
    assert filters.shape == (20, 201)
    assert filters.min() == 0
    assert filters.max() <= 1
    assert (filters.amax(1) > 0.5).all()
