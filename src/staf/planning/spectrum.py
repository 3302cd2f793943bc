"""The spectrum of a signal: one number, the mean frequency of its samples.

Frequencies are weighted by amplitude, not by energy: the amplitudes of photographs fall like 1/|f|, so energies would
describe the coarse shapes only. `first_frequency` uses this number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Axes longer than WHOLE samples are looked at in two pieces of half of that, so that planning for a signal of any size
# takes a fraction of a second and some tens of megabytes; by the number of axes.
WHOLE = {1: 1024, 2: 1024, 3: 128, 4: 32}
# Audio is looked at in at most FRAMES pieces of FRAME samples: a tone is a tone however long the recording lasts.
FRAME = 4096
FRAMES = 64
# Energy of a coefficient that is not counted, for samples with a range of 1: white noise of 90 dB. Samples that do not
# vary have nothing but the rounding of float32, which is fainter than that and fills all frequencies.
FLOOR = 1e-9


def amplitudes(pieces: Sequence[Tensor]) -> Tensor:
    """a (*m): the root mean square, over pieces and channels, of the cosine coefficients of pieces (*m, channels).

    The basis is orthonormal, so white noise of standard deviation s has s everywhere. FLOOR is subtracted, and the
    constant term is 0. The Fourier transform of the samples followed by their mirror image has the magnitudes of the
    cosine transform, without a step at the edges that would look like detail.

    >>> wave = torch.cos(torch.pi * 5 * (torch.arange(64) + 0.5) / 64)[:, None]
    >>> int(amplitudes([wave]).argmax()), round(float(amplitudes([wave]).square().sum() / wave.square().sum()), 4)
    (5, 1.0)
    """
    sizes = tuple(pieces[0].shape[:-1])
    energy = torch.zeros(sizes, dtype=torch.float64)
    channels = [channel for piece in pieces for channel in piece.unbind(-1)]
    for channel in channels:
        # In double precision, so that processors, whose transforms round differently, agree on the plan.
        mirrored = channel.double() - channel.double().mean()
        for axis in range(mirrored.dim()):
            mirrored = torch.cat([mirrored, mirrored.flip(axis)], axis)
        coefficients = torch.fft.rfftn(mirrored)[tuple(slice(size) for size in sizes)]
        energy += coefficients.abs().square() / mirrored.numel()
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


def grid_detail(signal: Any) -> tuple[float, float] | None:
    """Mean frequency of an image or array, in radians per unit of the coordinates, and its wavelength in samples.

    Coordinates span [-1, 1] for every size, so the same detail has a higher frequency in a larger image. Both are 0 for
    constant samples; the result is None if there are no samples.

    >>> from types import SimpleNamespace
    >>> stripes = np.cos(np.pi * 8 * (np.arange(32) + 0.5) / 32).astype(np.float32)[None, :, None].repeat(32, 0)
    >>> frequency, wave = grid_detail(SimpleNamespace(array=stripes, value_range=(-1, 1)))
    >>> round(frequency / (np.pi / 2), 2), round(wave, 2)
    (8.0, 8.0)
    """
    samples = _samples(signal)
    if samples is None or samples.ndim - 1 not in WHOLE:
        return None
    sizes, pieces = samples.shape[:-1], [samples]
    for axis in range(len(sizes)):
        pieces = [part for piece in pieces for part in _pieces(piece, axis, WHOLE[len(sizes)])]
    found = amplitudes([_scaled(piece, signal) for piece in pieces])
    per_sample = mean_frequency(found, [1.0] * len(sizes))
    frequency = mean_frequency(found, [2 / size for size in sizes])
    return frequency, 2 * math.pi / per_sample if per_sample > 0 else 0.0


def audio_detail(signal: Any) -> float | None:
    """Mean frequency of a recording in hertz: 0 if it is constant, None if there are no samples.

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


def shown_signal(signal: Any) -> Any:
    """The signal itself; for a task, the signal that is fitted, never the true signal."""
    for name in ("observed", "signal"):
        if hasattr(signal, name):
            return getattr(signal, name)
    return signal


def _samples(signal: Any) -> np.ndarray | None:
    """The samples (*shape, channels) of a signal or of what a task shows to a fit; None if it has none."""
    array = getattr(shown_signal(signal), "array", None)
    return array if isinstance(array, np.ndarray) else None


def _scaled(piece: np.ndarray, signal: Any) -> Tensor:
    """Samples as float32 with a range of 1; integers span that of their type."""
    if piece.dtype.kind in "ui":
        span = float(np.iinfo(piece.dtype).max)
    else:
        low, high = shown_signal(signal).value_range
        span = float(high - low)
    return torch.from_numpy(piece.astype(np.float32) / np.float32(span or 1.0))


def _pieces(piece: np.ndarray, axis: int, whole: int) -> list[np.ndarray]:
    """A long axis as two pieces, each in the middle of its half; a short one as it is."""
    size = piece.shape[axis]
    if size <= whole:
        return [piece]
    half = whole // 2
    starts = (size // 4 - half // 2, 3 * size // 4 - half // 2)
    return [piece[(slice(None),) * axis + (slice(start, start + half),)] for start in starts]
