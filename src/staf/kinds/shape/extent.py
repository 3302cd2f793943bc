"""How large and how small coordinates may be: their areas and volumes are float64, and files and pages keep float32."""

from __future__ import annotations

import numpy as np

from staf.signals.errors import SignalError

LARGEST, SMALLEST = 1e32, 1e-32


def check_extent(points: np.ndarray, what: str) -> None:
    """Refuse positions (n, 3) that are too far away, or too close together, to calculate with.

    >>> check_extent(np.array([[0.0, 0.0, 1e200]]), "vertices")
    Traceback (most recent call last):
    ...
    staf.signals.errors.SignalError: vertices must have coordinates of at most 1e+32, got 1e+200: choose another unit
    """
    largest, size = float(np.abs(points).max()), float(np.ptp(points, axis=0).max())
    if largest > LARGEST:
        raise SignalError(f"{what} must have coordinates of at most {LARGEST:g}, got {largest:g}: choose another unit")
    if 0 < size < SMALLEST:
        raise SignalError(f"{what} must spread over at least {SMALLEST:g}, got {size:g}: choose another unit")
