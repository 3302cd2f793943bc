"""What the spectrum of a signal asks of a network's first layer: omega0 for pictures, hertz for recordings.

The measure is one number, the mean frequency of the samples, each frequency counted by its amplitude. Amplitudes and
not energies: those of photographs fall like 1/|f|, so that energies would tell of the coarse shapes alone.
docs/recipes.md has the fits behind the constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Axes longer than WHOLE samples are looked at in two pieces of PIECE, so that planning a photograph of any size takes
# a fraction of a second and some tens of megabytes.
WHOLE = 1024
PIECE = 512
# Audio is looked at in at most FRAMES pieces of FRAME samples: a tone is a tone however long the recording lasts.
FRAME = 4096
FRAMES = 64
# Energy of a coefficient that is not counted, for samples with a range of 1: white noise of 90 dB. Samples that do not
# vary have nothing but the rounding of float32, which is fainter than that and fills all frequencies.
FLOOR = 1e-9

# omega0 = OMEGA0_PER_ROOT sqrt(mean frequency), within the ends. More than a quarter of (side + mean frequency) fits
# the pixels as well and is noise between them, and of few pixels more than a hundredth of the side squared. Beyond 100
# nothing is gained: at 512x512, 500 steps of SOAP, train_00 and train_02 of DIV2K end at 36.3 dB with 138 and 143, at
# 36.6 with 70% of that and at 36.7 with half, and at 26.9, 28.7 and 30.0 dB between.
OMEGA0_PER_ROOT = 7.0
OMEGA0_PER_SIDE = 0.25
OMEGA0_PER_SQUARE = 0.01
OMEGA0_ENDS = (0.5, 100.0)
# The mean frequency of a sharp photograph for each pixel of its side, for a picture whose pixels cannot be seen.
PHOTO = 0.7

# The first layer of audio starts with sines of up to (mean frequency)^2 / HERTZ. No more than a quarter of the sample
# rate, and no more than so many cycles over the recording for each neuron, with full batches and with mini-batches: few
# sines cannot cover more, and the fit ends in hiss or silence.
HERTZ = 350.0
CYCLES = 11.0
MINI_BATCH_CYCLES = 4.7
WIDTH = 256
LOWEST_HERTZ = 20.0
# For a recording whose samples cannot be seen.
TYPICAL_HERTZ = 400.0


def amplitudes(pieces: Sequence[Tensor]) -> Tensor:
    """a (*m): the root mean square, over pieces and channels, of the cosine coefficients of pieces (*m, channels).

    In an orthonormal basis, so that white noise of standard deviation s has s everywhere; FLOOR is taken off, and the
    constant is 0. The Fourier transform of the samples followed by their mirror image has the magnitudes of the cosine
    transform, and no step at the edges that would pass for detail.

    >>> wave = torch.cos(torch.pi * 5 * (torch.arange(64) + 0.5) / 64)[:, None]
    >>> int(amplitudes([wave]).argmax()), round(float(amplitudes([wave]).square().sum() / wave.square().sum()), 4)
    (5, 1.0)
    """
    sizes = tuple(pieces[0].shape[:-1])
    energy = torch.zeros(sizes, dtype=torch.float64)
    channels = [channel for piece in pieces for channel in piece.unbind(-1)]
    for channel in channels:
        mirrored = channel - channel.mean()
        for axis in range(mirrored.dim()):
            mirrored = torch.cat([mirrored, mirrored.flip(axis)], axis)
        coefficients = torch.fft.rfftn(mirrored)[tuple(slice(size) for size in sizes)]
        energy += coefficients.abs().double().square() / mirrored.numel()
    found = (energy / len(channels) - FLOOR).clamp_min(0).sqrt()
    found.view(-1)[0] = 0
    return found


def mean_frequency(amplitude: Tensor, spacing: Sequence[float]) -> float:
    """sum_k a_k |f_k| / sum_k a_k in radians per unit of length, f_k = pi k / (m spacing); 0 where all a_k are 0.

    `amplitude` (*m) comes from `amplitudes`, `spacing` is the distance of two samples along each axis. White noise has
    0.77 pi / spacing in two dimensions and pi / 2 / spacing in one.

    >>> float(round(mean_frequency(torch.ones(200, 200), [1.0, 1.0]) / torch.pi, 2))
    0.76
    """
    squares = torch.zeros((), dtype=torch.float64)
    for axis, (size, step) in enumerate(zip(amplitude.shape, spacing, strict=True)):
        frequency = torch.arange(size, dtype=torch.float64) * (math.pi / (size * step))
        squares = squares + frequency.square().reshape(-1, *[1] * (amplitude.dim() - axis - 1))
    total = float(amplitude.sum())
    return float((amplitude * squares.sqrt()).sum()) / total if total > 0 else 0.0


def image_detail(signal: Any) -> tuple[float, float] | None:
    """Mean frequency of a picture, in radians per unit of the coordinates, and the length of that wave in pixels.

    Coordinates span [-1, 1] whatever the size, so the same pixels' worth of detail is a higher frequency in a larger
    picture. Both are 0 for a picture that does not vary; None comes back for what has no pixels to look at.

    >>> from types import SimpleNamespace
    >>> stripes = np.cos(np.pi * 8 * (np.arange(32) + 0.5) / 32).astype(np.float32)[None, :, None].repeat(32, 0)
    >>> frequency, wave = image_detail(SimpleNamespace(array=stripes, value_range=(-1, 1)))
    >>> round(frequency / (np.pi / 2), 2), round(wave, 2)
    (8.0, 8.0)
    """
    pixels = _samples(signal)
    if pixels is None:
        return None
    pieces = [pixels]
    for axis in (0, 1):
        pieces = [part for piece in pieces for part in _pieces(piece, axis)]
    found = amplitudes([_scaled(piece, signal) for piece in pieces])
    per_pixel = mean_frequency(found, [1.0, 1.0])
    frequency = mean_frequency(found, [2 / size for size in pixels.shape[:2]])
    return frequency, 2 * math.pi / per_pixel if per_pixel > 0 else 0.0


def image_omega0(signal: Any) -> tuple[float, str] | None:
    """The first layer's omega0 for a picture and why, in words; None for what is no picture.

    min(7 sqrt(f), (side + f) / 4, side^2 / 100) between 0.5 and 100, where f is the mean frequency and `side` the
    longest in pixels.

    >>> from types import SimpleNamespace
    >>> noise = np.random.default_rng(0).uniform(size=(64, 64, 1)).astype(np.float32)
    >>> image_omega0(SimpleNamespace(array=noise, shape=(64, 64), in_features=2, value_range=(0, 1)))
    (35.0, 'detail as fine as noise, a mean wave of 2.6 pixels')
    """
    shape = getattr(_shown(signal), "shape", None)
    if signal.in_features != 2 or shape is None or len(shape) != 2:
        return None
    detail = image_detail(signal)
    frequency, why = (PHOTO * max(shape), "as for a sharp photo of this size") if detail is None else _in_words(*detail)
    side = max(shape)
    limits = (OMEGA0_PER_SIDE * (side + frequency), OMEGA0_PER_SQUARE * side**2)
    wanted = min(OMEGA0_PER_ROOT * math.sqrt(frequency), *limits)
    return round(min(max(wanted, OMEGA0_ENDS[0]), OMEGA0_ENDS[1]), 1), why


def _in_words(frequency: float, wave: float) -> tuple[float, str]:
    if wave == 0:
        return frequency, "it does not vary"
    detail = "the detail of a sharp photo"
    if wave < 3:
        detail = "detail as fine as noise"
    elif wave > 6:
        detail = "soft detail" if wave < 12 else "a smooth picture"
    return frequency, f"{detail}, a mean wave of {wave:.1f} pixels"


def audio_detail(signal: Any) -> float | None:
    """Mean frequency of a recording in hertz, 0 if it does not vary; None if it holds no samples to look at.

    >>> from types import SimpleNamespace
    >>> tone = np.sin(2 * np.pi * 500 * np.arange(8000) / 8000)[:, None]
    >>> 450 < audio_detail(SimpleNamespace(array=tone, rate=8000, value_range=(-1, 1))) < 600
    True
    """
    samples = _samples(signal)
    if samples is None:
        return None
    size = min(FRAME, len(samples))
    count = min(FRAMES, math.ceil(len(samples) / size))
    starts = np.linspace(0, len(samples) - size, count).astype(int)
    frames = [_scaled(samples[start : start + size], signal) for start in starts]
    return mean_frequency(amplitudes(frames), [1 / signal.rate]) / (2 * math.pi)


def first_hertz(signal: Any, seconds: float, cycles: float = CYCLES, width: int = WIDTH) -> tuple[float, str]:
    """The fastest sine that a first layer over `seconds` of a recording starts with, and why, in words.

    (mean frequency)^2 / 350 Hz, at most `cycles` over the `seconds` for each of the layer's `width` neurons, at most a
    quarter of the sample rate.

    >>> from types import SimpleNamespace
    >>> hum = np.sin(2 * np.pi * 250 * np.arange(8000) / 8000)[:, None]
    >>> hertz, why = first_hertz(SimpleNamespace(array=hum, rate=8000, value_range=(-1, 1)), 1.0)
    >>> 180 < hertz < 260, why
    (True, 'its mean frequency is 288 Hz')
    """
    mean = audio_detail(signal)
    if mean is None:
        wanted, why = TYPICAL_HERTZ, "as for music"
    else:
        wanted, why = mean**2 / HERTZ, f"its mean frequency is {mean:,.0f} Hz" if mean > 0 else "it does not vary"
    covered, quarter = cycles * width / seconds, signal.rate / 4
    if wanted > quarter and quarter <= covered:
        why += ", kept to a quarter of the sample rate"
    elif wanted > covered:
        why += f", kept to {cycles * width:,.0f} cycles over {seconds:.3g} s"
    return max(min(wanted, quarter, covered), min(LOWEST_HERTZ, quarter)), why


def _shown(signal: Any) -> Any:
    """A signal as it is; of a task the signal that is fitted, and never the truth that it is measured against."""
    for name in ("observed", "signal"):
        if hasattr(signal, name):
            return getattr(signal, name)
    return signal


def _samples(signal: Any) -> np.ndarray | None:
    """The samples (*shape, channels) of a signal or of what a task shows to a fit; None if it holds none."""
    array = getattr(_shown(signal), "array", None)
    return array if isinstance(array, np.ndarray) else None


def _scaled(piece: np.ndarray, signal: Any) -> Tensor:
    """Samples as float32 with a range of 1; integers span that of their type."""
    if piece.dtype.kind in "ui":
        span = float(np.iinfo(piece.dtype).max)
    else:
        low, high = _shown(signal).value_range
        span = float(high - low)
    return torch.from_numpy(piece.astype(np.float32) / np.float32(span))


def _pieces(piece: np.ndarray, axis: int) -> list[np.ndarray]:
    """A long axis as two pieces, each in the middle of its half; a short one as it is."""
    size = piece.shape[axis]
    if size <= WHOLE:
        return [piece]
    starts = (size // 4 - PIECE // 2, 3 * size // 4 - PIECE // 2)
    return [piece[(slice(None),) * axis + (slice(start, start + PIECE),)] for start in starts]
