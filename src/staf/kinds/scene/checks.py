"""Checks of the arguments and the files of a scene."""

from __future__ import annotations

import math
from collections.abc import Sequence

from staf.signals.errors import SignalError

Triple = tuple[float, float, float]
LARGEST = 2**20
MOST_SUBPIXELS = 4
WHITE: Triple = (1.0, 1.0, 1.0)
BACKGROUNDS = {"white": WHITE, "black": (0.0, 0.0, 0.0)}


def box(centre: Sequence[float], half: float) -> tuple[Triple, float]:
    """Centre and half side of a box.

    >>> box([0, 0, 1], 2)
    ((0.0, 0.0, 1.0), 2.0)
    """
    numbers = _numbers([*centre, half])
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)) or numbers[3] <= 0:
        raise SignalError(
            f"the box must have a centre of 3 numbers and a positive half side, got centre {centre!r} and half {half!r}"
        )
    return (numbers[0], numbers[1], numbers[2]), numbers[3]


def colour(values: Sequence[float]) -> Triple:
    """Red, green and blue between 0 and 1."""
    numbers = _numbers(values)
    if len(numbers) != 3 or not all(0 <= value <= 1 for value in numbers):
        raise SignalError(
            f"background must be three numbers between 0 and 1, such as (0, 0, 0) for black, got {values!r}"
        )
    return numbers[0], numbers[1], numbers[2]


def _numbers(values: Sequence[float]) -> list[float]:
    """The values as floats, or none where they are not numbers."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        return []


def whole(name: str, value: int) -> int:
    """A number of something."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise SignalError(f"{name} must be a whole number between 1 and {LARGEST:,}, got {value!r}")
    return value


def subpixels(value: int) -> int:
    """Rays along each side of a pixel.

    >>> subpixels(2)
    2
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not (is_whole and 1 <= value <= MOST_SUBPIXELS):
        raise SignalError(f"subpixels must be a whole number between 1 and {MOST_SUBPIXELS}, got {value!r}")
    return value
