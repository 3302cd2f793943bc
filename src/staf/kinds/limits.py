"""How much a file may ask for, checked before anything of that size is decoded.

A header can announce any size, and it costs its writer nothing. So two things are checked first: the size itself,
against the `max_pixels` of `staf.open`, and whether the bytes that are there can hold so much in the best of cases.
"""

from __future__ import annotations

import math

from staf.signals.errors import SignalError, damaged

MEBIBYTE = 2**20
# What decodes to no more than this is decoded without asking how plausible it is: it takes a fraction of a second.
SMALL = 64 * MEBIBYTE
# Bytes beside the data proper (colour profiles, thumbnails, comments) that a file may bring along.
EXTRAS = 64 * MEBIBYTE


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Refuses images without pixels and those of more than `max_pixels`.

    >>> check_size(640, 480, 10**6)
    """
    if width < 1 or height < 1:
        raise SignalError(f"an image must have at least one pixel, got {width}x{height}")
    if width * height > max_pixels:
        raise SignalError(
            f"its header announces {width}x{height} pixels, more than max_pixels={max_pixels}; "
            "if you trust the file, pass a larger max_pixels (staf fit: --max-pixels)"
        )


def check_enough(stored: int, needed: float, what: str) -> None:
    """Refuses a file whose `stored` bytes are fewer than the `needed` ones, below which no encoder can go.

    >>> check_enough(10, 1000, "64x64 pixels")
    Traceback (most recent call last):
    ...
    staf.signals.errors.SignalError: it is damaged or cut short: 64x64 pixels take 1,000 bytes or more, and it holds 10
    """
    if stored < needed:
        raise damaged(f"{what} take {math.ceil(needed):,} bytes or more, and it holds {stored:,}")


def check_ratio(decoded: int, stored: int, ratio: int, what: str) -> None:
    """Refuses a small file that would unfold to more than `SMALL` and to more than `ratio` times its own bytes."""
    if decoded > SMALL and decoded > ratio * stored:
        raise SignalError(
            f"its header announces {what}, {decoded:,} bytes, in a file that holds {stored:,}: "
            "it is damaged, or made to fill memory"
        )


def check_not_padded(stored: int, decoded: int) -> None:
    """Refuses a file that is far larger than what it decodes to, where all of it would have to be read."""
    if stored > 4 * decoded + EXTRAS:
        raise SignalError(f"it has {stored:,} bytes, and its header announces no more than {decoded:,} bytes of data")
