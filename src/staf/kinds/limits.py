"""How much a file may ask for, checked before anything of that size is decoded, and damage told in one sentence.

A header can announce any size, and it costs its writer nothing. So two things are checked first: the size itself,
against the `max_pixels` of `staf.open`, and whether the bytes that are there can hold so much in the best of cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from staf.signals.errors import SignalError

MEBIBYTE = 2**20
# What decodes to no more than this is decoded without asking how plausible it is: it takes a fraction of a second.
SMALL = 64 * MEBIBYTE
# Bytes beside the data proper (colour profiles, thumbnails, comments) that a file may bring along.
EXTRAS = 64 * MEBIBYTE
LONGEST_REASON = 600


def damaged(what: str) -> SignalError:
    """The error for a file that is not whole, and `what` shows it.

    >>> damaged("its last chunk ends at byte 7")
    SignalError('it is damaged or cut short: its last chunk ends at byte 7')
    """
    return SignalError(f"it is damaged or cut short: {what}")


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


@contextmanager
def damage_named(format: str) -> Iterator[None]:
    """Turns whatever a decoder raises on bad bytes into one sentence."""
    try:
        yield
    except (SignalError, PermissionError, FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        # Decoders raise all sorts on damaged bytes: numpy, for one, a tokenizer's error for a bad header.
        raise SignalError(
            f"it is damaged or cut short, or no {format} this version reads: {one_line(error)}"
        ) from error


def one_line(error: Exception) -> str:
    """What an error says, in one line that can be shown.

    >>> one_line(ValueError("two\\nlines \\x00"))
    'two lines \\\\x00'
    """
    words = " ".join(str(error).split()) or type(error).__name__
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in words)[:LONGEST_REASON]
