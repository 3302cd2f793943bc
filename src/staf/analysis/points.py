"""A signal small enough for a kernel: points on its grid, the grid's shape, and values in [0, 1]."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from staf.signals.base import Signal
from staf.signals.grid import coordinates

# Grids of this many axes are averaged.
AVERAGED_AXES = (2, 3)


class Points(NamedTuple):
    """Coordinates (n, d) of a grid of `shape`, and the target (n, c) there."""

    coordinates: Tensor
    shape: tuple[int, ...]
    target: Tensor


def few_points(signal: Signal, most: int = 1024, *, crop: bool | None = None) -> Points:
    """At most `most` points of a signal: a crop from its middle, or all of it by area averaging.

    A crop keeps the samples' own spacing, so that the kernel sees the coordinates that a fit sees; averaging shows the
    whole signal to a network whose frequencies were chosen for finer grids. By default grids of two and three axes are
    averaged, and others (audio for one, which averages to silence) are cropped.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> few_points(Image(np.zeros((300, 200, 3), dtype=np.uint8)), 600).shape
    (30, 20)
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")
    shape = tuple(signal.shape)
    low, high = signal.value_range
    values = (signal.values().float() - low) / (high - low)
    if math.prod(shape) <= most:
        return Points(coordinates(shape), shape, values)
    if crop is False and len(shape) == 1:
        raise ValueError("crop must be true for audio: averaging neighbours would silence it")
    scale = (most / math.prod(shape)) ** (1 / len(shape))
    small = tuple(max(1, int(size * scale + 1e-9)) for size in shape)
    if crop or len(shape) not in AVERAGED_AXES:
        inside = tuple(slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(shape, small, strict=True))
        index = torch.arange(math.prod(shape)).reshape(shape)[inside].reshape(-1)
        return Points(coordinates(shape, index=index), small, values[index])
    pool = getattr(functional, f"adaptive_avg_pool{len(shape)}d")
    averaged: Tensor = pool(values.T.reshape(1, -1, *shape), small)
    return Points(coordinates(small), small, averaged.reshape(values.shape[1], -1).T.contiguous())


def chord(samples: int = 8000, most: int = 512) -> Points:
    """A second of a synthetic chord at 8 kHz, as a window of `most` samples: notes at 220, 277 and 330 Hz, overtones.

    >>> chord(most=64).coordinates.shape
    torch.Size([64, 1])
    """
    time = np.arange(samples) / samples
    wave = np.zeros(samples)
    for note in (220.0, 277.2, 329.6):
        for overtone in range(1, 7):
            wave += np.sin(2 * np.pi * note * overtone * time + overtone) / overtone**1.3
    wave = 0.5 + 0.5 * wave / np.abs(wave).max()
    index = torch.arange(most) + (samples - most) // 2
    target = torch.from_numpy(wave[index.numpy()]).float()[:, None]
    return Points(coordinates((samples,), index=index), (most,), target)
