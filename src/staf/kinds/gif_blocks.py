"""The blocks of a GIF file: how many frames it has and how far they reach, without decoding one."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import BinaryIO

from staf.signals.errors import SignalError

EXTENSION, FRAME, END = 0x21, 0x2C, 0x3B


def announces_picture(file: BinaryIO) -> bool:
    """Whether a GIF has a single frame, which makes it an image and no video.

    >>> import io
    >>> start = b"GIF89a" + bytes([4, 0, 3, 0, 0, 0, 0])
    >>> frame = b"," + struct.pack("<4HB", 0, 0, 4, 3, 0) + b"\\x02\\x00"
    >>> announces_picture(io.BytesIO(start + frame + b";")), announces_picture(io.BytesIO(start + frame + frame + b";"))
    (True, False)
    """
    number = -1
    with contextlib.suppress(struct.error, SignalError):
        for number, _ in enumerate(_extents(file)):
            if number == 1:
                return False
    return number == 0


def check_extents(file: BinaryIO) -> None:
    """Refuse frames that reach beyond the picture, for which readers make a larger one.

    The picture is the screen that the header announces, or the extent of the first frame if that is larger. What is no
    GIF, or is cut short, is left to the decoder to refuse.

    >>> import io
    >>> start = b"GIF89a" + bytes([4, 0, 3, 0, 0, 0, 0])
    >>> frame = lambda *sides: b"," + struct.pack("<4HB", *sides, 0) + b"\\x02\\x00"
    >>> check_extents(io.BytesIO(start + frame(0, 0, 4, 3) + frame(1, 1, 2, 2) + b";"))
    >>> check_extents(io.BytesIO(start + frame(0, 0, 4, 3) + frame(1, 1, 9, 2) + b";"))
    Traceback (most recent call last):
    staf.signals.errors.SignalError: frames must lie within the picture of 4x3: frame 1 reaches to 10x3
    """
    with contextlib.suppress(struct.error):
        for _ in _extents(file):
            pass


def _extents(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """The width and height of the picture after each frame, which must lie within it."""
    header = file.read(13)
    width, height, flags = struct.unpack("<6xHHB2x", header)
    _skip_colours(file, flags)
    number = 0
    while (block := file.read(1)) and block[0] != END:
        if block[0] == EXTENSION:
            file.read(1)
            _skip_data(file)
        elif block[0] == FRAME:
            left, top, wide, high, flags = struct.unpack("<4HB", file.read(9))
            if number == 0:
                width, height = max(width, left + wide), max(height, top + high)
            elif left + wide > width or top + high > height:
                said = f"frame {number} reaches to {max(width, left + wide)}x{max(height, top + high)}"
                raise SignalError(f"frames must lie within the picture of {width}x{height}: {said}")
            _skip_colours(file, flags)
            file.read(1)
            _skip_data(file)
            number += 1
            yield width, height


def _skip_colours(file: BinaryIO, flags: int) -> None:
    if flags & 0x80:
        file.seek(3 * 2 ** ((flags & 7) + 1), 1)


def _skip_data(file: BinaryIO) -> None:
    while (size := file.read(1)) and size[0]:
        file.seek(size[0], 1)
