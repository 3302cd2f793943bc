"""Mel-frequency cepstral coefficients."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from staf._typing import Float

WINDOW, HOP, COEFFICIENTS = 400, 160, 50


def mel_filters(bins: int, mels: int, sample_rate: int) -> Float[Tensor, "mels bins"]:
    """Triangles evenly spaced on the mel scale 2595 log10(1 + f/700), from 0 to half the sample rate."""
    top = 2595 * math.log10(1 + sample_rate / 2 / 700)
    centres = 700 * (10 ** (torch.linspace(0, top, mels + 2, dtype=torch.float64, device="cpu") / 2595) - 1)
    frequencies = torch.linspace(0, sample_rate / 2, bins, dtype=torch.float64, device="cpu")
    low, middle, high = centres[:-2, None], centres[1:-1, None], centres[2:, None]
    rising = (frequencies - low) / (middle - low)
    falling = (high - frequencies) / (high - middle)
    return torch.minimum(rising, falling).clamp(min=0)


def mfcc(waveform: Float[Tensor, "channels n"], sample_rate: int) -> Float[Tensor, " k"]:
    """50 cepstral coefficients, averaged over time and channels.

    Power spectra of Hann windows of 400 samples every 160, as many mel bands as coefficients, in decibels no lower
    than 80 under the loudest, then the orthonormal DCT-II.

    >>> mfcc(torch.sin(torch.arange(4000) / 10)[None], 44100).shape
    torch.Size([50])
    """
    signal = waveform.detach().to("cpu", torch.float64)
    signal = torch.nn.functional.pad(signal, (0, max(0, WINDOW - signal.shape[-1])))
    window = torch.hann_window(WINDOW, dtype=torch.float64, device="cpu")
    spectrum = torch.stft(signal, WINDOW, HOP, window=window, center=False, return_complex=True)
    power = spectrum.real.square() + spectrum.imag.square()
    decibels = 10 * torch.log10((mel_filters(WINDOW // 2 + 1, COEFFICIENTS, sample_rate) @ power).clamp(min=1e-10))
    decibels = torch.maximum(decibels, decibels.amax() - 80)
    return (cosines(COEFFICIENTS) @ decibels).mean((0, 2)).to(waveform.device, waveform.dtype)


def cosines(size: int) -> Float[Tensor, "n n"]:
    """The orthonormal cosine transform (DCT-II) as a matrix, float64, on the CPU.

    >>> bool(torch.allclose(cosines(5) @ cosines(5).T, torch.eye(5, dtype=torch.float64)))
    True
    """
    at = torch.arange(size, dtype=torch.float64, device="cpu")
    basis = torch.cos(math.pi / size * (at + 0.5) * at[:, None]) * math.sqrt(2 / size)
    basis[0] /= math.sqrt(2)
    return basis
