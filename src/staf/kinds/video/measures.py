"""How good each frame of a video is."""

from __future__ import annotations

import math

import numpy as np


def frame_psnr(found: np.ndarray, target: np.ndarray) -> np.ndarray:
    """10 log10(1 / mean square error) of each frame of (t, h, w, c) arrays, bytes or floats, peak 1: (t,).

    Equal frames have an infinite PSNR.

    >>> found, target = (np.array(values, np.uint8).reshape(2, 1, 1, 1) for values in ([255, 51], [255, 0]))
    >>> frame_psnr(found, target).round(2).tolist()
    [inf, 13.98]
    """
    return np.array([decibels(square_error(*pair)) for pair in zip(found, target, strict=True)])


def square_error(found: np.ndarray, target: np.ndarray) -> float:
    """The mean square error of two frames with peak 1."""
    first, second = (frame.astype(np.float32) / (255 if frame.dtype == np.uint8 else 1) for frame in (found, target))
    return float(np.square(first - second, dtype=np.float64).mean())


def decibels(square: float) -> float:
    """The PSNR of a mean square error.

    >>> round(decibels(1e-4), 6)
    40.0
    """
    return math.inf if square == 0 else -10 * math.log10(square)
