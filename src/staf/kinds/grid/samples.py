"""Which arrays are grids, which axis holds their channels, and what their numbers mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from staf.signals.errors import SignalError

MOST_AXES = 4
# A last axis of up to this many entries, in an array of three or more axes, is taken as channels.
MOST_CHANNELS = 16
# Where values vary by less than this share of their size, float32 leaves few digits for the variation.
SMALLEST_VARIATION = 2.0**-14


def checked_samples(array: np.ndarray) -> np.ndarray:
    """The array as it is, in the machine's byte order, if it holds real numbers along 1 to 5 axes."""
    if array.dtype.kind == "c":
        raise SignalError(f"a grid must hold real numbers, got {array.dtype}: np.stack([a.real, a.imag], -1) makes two")
    if array.dtype.kind not in "biuf":
        raise SignalError(f"a grid must hold numbers, got {array.dtype}")
    if not 1 <= array.ndim <= MOST_AXES + 1:
        raise SignalError(f"a grid must have 1 to {MOST_AXES} axes, and one for channels, got shape {array.shape}")
    if 0 in array.shape:
        raise SignalError(f"a grid must have at least one sample, got shape {array.shape}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def has_channels(shape: tuple[int, ...], channels: bool | None) -> tuple[bool, list[str]]:
    """Whether the last axis of an array holds channels, and a sentence for the user where the shape had to tell.

    >>> has_channels((64, 64, 64), None)[0], has_channels((64, 64, 5), None)[0], has_channels((64, 5), None)[0]
    (False, True, False)
    """
    axes = len(shape)
    if channels not in (True, False, None):
        raise SignalError(f"channels must be True, False or None, got {channels!r}")
    if channels and axes == 1:
        raise SignalError(f"channels must not be True for an array of one axis, got shape {shape}")
    if channels is False and axes > MOST_AXES:
        raise SignalError(f"a grid must have 1 to {MOST_AXES} axes besides the channels, got shape {shape}")
    if channels is not None:
        return channels, []
    if axes > MOST_AXES:
        return True, []
    if axes < 3:
        return False, []
    size = "x".join(str(n) for n in shape)
    if shape[-1] <= MOST_CHANNELS:
        read = f"{'x'.join(str(n) for n in shape[:-1])} samples of {shape[-1]} channels"
        return True, [f"{size} is read as {read}: channels=False (--channels none) makes it a volume"]
    told = "channels=True (--channels last) makes the last axis channels"
    return False, [f"{size} is read as a volume of one channel: {told}"]


def checked_spacing(spacing: Sequence[float] | None, axes: int) -> tuple[float, ...] | None:
    """The side of a cell along each axis, or None.

    >>> checked_spacing([2, 0.5], 2)
    (2.0, 0.5)
    """
    if spacing is None:
        return None
    sides = tuple(float(side) for side in spacing)
    if len(sides) != axes or not all(math.isfinite(side) and side > 0 for side in sides):
        raise SignalError(f"spacing must be {axes} positive numbers, got {sides}")
    return sides


def range_of(array: np.ndarray) -> tuple[tuple[float, float], list[str]]:
    """The lowest and the highest sample, and what to tell the user about them; a constant spans 1 from its value."""
    low, high = float(array.min()), float(array.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise SignalError("a grid must hold numbers only, got NaN or Inf")
    if max(abs(low), abs(high)) > float(np.finfo(np.float32).max):
        raise SignalError("a grid must fit in float32, got values beyond 3.4e38")
    if low == high:
        return (low, low + max(1.0, abs(low) * 2**-20)), ["every sample has the same value"]
    if high - low < SMALLEST_VARIATION * max(abs(low), abs(high)):
        return (low, high), [
            f"values vary by {high - low:g} around {low:g}, and float32 keeps seven digits: subtract an offset first"
        ]
    return (low, high), []


def rounded(numbers: np.ndarray, dtype: np.dtype, value_range: tuple[float, float]) -> np.ndarray:
    """Floats held to the range, as samples of `dtype`; integers are rounded to the nearest.

    >>> rounded(np.array([-3.0, 0.4, 0.6], np.float32), np.dtype(np.uint8), (0.0, 255.0)).tolist()
    [0, 0, 1]
    """
    low, high = value_range
    held = np.clip(numbers.astype(np.float64), low, high)
    if dtype.kind == "f":
        return held.astype(dtype)
    if dtype.kind == "b":
        return held >= 0.5
    # A float64 may lie just above the largest integer of 64 bits.
    limits = np.iinfo(dtype)
    largest = float(limits.max)
    largest = largest if int(largest) <= limits.max else float(np.nextafter(largest, 0))
    return np.clip(np.rint(held), float(limits.min), largest).astype(dtype)
