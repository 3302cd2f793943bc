"""Whether an audio file is whole, told from its own structure: decoders return what is there and say nothing."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from staf.signals.errors import damaged

# Sizes that programs write when they do not know the length yet: in a stream, or until the recording ends.
UNKNOWN_FROM = 0x7FFF0000
LARGEST_PAGE = 65307
MOST_CHUNKS = 10_000
MOST_FRAMES = 1_000_000
NOT_SAID = "its header does not say how long it is: all that is there is read"

# Kilobits per second by index, of layer III: MPEG 1, and MPEG 2 and 2.5.
BIT_RATES = (
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
TAGS = (b"APETAGEX", b"LYRICSBEGIN", b"TAG", b"ID3")
# Bytes behind the last frame that need no name.
PADDING = 4096
SAMPLE_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}


class Whole(NamedTuple):
    """What is known of a file that is whole.

    `notes` are for the user; `samples` is about how many its frames hold, `part` where they begin and end, if other
    things are before or behind them, and `first` a frame to put before them, which counts them.
    """

    notes: tuple[str, ...] = ()
    samples: int | None = None
    part: tuple[int, int] | None = None
    first: bytes = b""


def check_whole(file: BinaryIO) -> Whole:
    """Refuses a WAV, Ogg or MP3 that announces more than the file holds.

    FLAC counts its samples in its header, which its reader compares with what it decodes.
    """
    head = file.read(12)
    size = os.fstat(file.fileno()).st_size
    check = CHECKS.get(head[:4], _mp3 if head[:3] == b"ID3" or head[:1] == b"\xff" else None)
    return Whole() if check is None else check(file, size)


def _wav(file: BinaryIO, size: int) -> Whole:
    offset = 12
    for _ in range(MOST_CHUNKS):
        file.seek(offset)
        head = file.read(8)
        if len(head) < 8:
            raise damaged("its chunk of samples is missing")
        length = int.from_bytes(head[4:], "little")
        offset += 8
        if head[:4] == b"data":
            there = size - offset
            if length >= UNKNOWN_FROM and length > there:
                return Whole((NOT_SAID,))
            if length == 0 and there > 0:
                raise damaged(f"its header announces no samples, and {there:,} bytes follow it")
            # A byte that makes the length even is left out by some writers.
            if length > there + 1:
                raise damaged(f"{there:,} of {length:,} bytes of samples are there")
            return Whole()
        offset += length + length % 2
    raise damaged(f"it has more than {MOST_CHUNKS:,} chunks")


def _ogg(file: BinaryIO, size: int) -> Whole:
    """The last page must be whole, and say that it is the last."""
    start = max(0, size - 2 * LARGEST_PAGE)
    file.seek(start)
    tail = file.read(2 * LARGEST_PAGE)
    at = tail.rfind(b"OggS\0")
    while at >= 0:
        head = tail[at : at + 27]
        lengths = tail[at + 27 : at + 27 + head[26]] if len(head) == 27 else b""
        if len(head) < 27 or len(lengths) < head[26] or at + 27 + head[26] + sum(lengths) > len(tail):
            raise damaged("its last page is not whole")
        if not head[5] & 4:
            raise damaged("its last page is not there")
        return Whole()
    raise damaged("its last page is not there")


def _mp3(file: BinaryIO, size: int) -> Whole:
    """The bytes that the first frame announces must be there; where it announces none, the last frame must be whole."""
    offset = 0
    file.seek(0)
    head = file.read(10)
    if head[:3] == b"ID3" and len(head) == 10:
        # Seven bits of each byte, so that none looks like the start of a frame.
        offset = 10 + sum((byte & 127) << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))
    file.seek(max(0, size - 128))
    end = size - 128 if size >= 128 and file.read(3) == b"TAG" else size
    file.seek(offset)
    first = file.read(4096)
    length = _frame_length(first[:4])
    if length is None:
        return Whole()
    start = offset
    place = next((at for name in (b"Xing", b"Info") if 0 < (at := first.find(name, 4, 64)) < length), None)
    if place is not None and (flags := int.from_bytes(first[place + 4 : place + 8], "big")) & 2:
        at = place + 8 + 4 * (flags & 1)
        announced = int.from_bytes(first[at : at + 4], "big")
        if announced > end - offset:
            raise damaged(f"{end - offset:,} of {announced:,} bytes of sound are there")
        file.seek(start + announced)
        # Some writers leave the first frame out of the number.
        more = length if _frame_length(file.read(4)) is not None else 0
        return Whole(part=(start, min(end, start + announced + more)))
    of_a_frame, count = 1152 if first[1] >> 3 & 3 == 3 else 576, 0
    for _ in range(MOST_FRAMES):
        if length is None or offset + 4 > end:
            break
        count += 1
        if offset + length > end:
            raise damaged(f"its last frame has {end - offset:,} of {length:,} bytes")
        offset += length
        file.seek(offset)
        behind = file.read(12)
        length = _frame_length(behind[:4])
    else:
        return Whole()
    if end - offset > PADDING and not behind.startswith(TAGS):
        raise damaged(f"no frame follows byte {offset:,}, and {end - offset:,} bytes do")
    return Whole((), count * of_a_frame, (start, offset), _counting_frame(first[:4], count, offset - start))


def _counting_frame(head: bytes, frames: int, size: int) -> bytes:
    """The frame that says how many others follow, for an MP3 that has none: else their number is estimated.

    `head` begins one of the others.
    """
    first = bytes((0xFF, head[1] | 1, 0x80 | head[2] & 0x0C, head[3]))
    length = _frame_length(first)
    assert length is not None
    mpeg_1, mono = head[1] >> 3 & 3 == 3, head[3] >> 6 == 3
    side = (17 if mono else 32) if mpeg_1 else (9 if mono else 17)
    body = bytes(side) + b"Xing" + struct.pack(">III", 3, frames, size + length)
    return (first + body).ljust(length, b"\0")


def _frame_length(head: bytes) -> int | None:
    """The bytes of the MP3 frame that begins with these four, or None where none begins or its length is free.

    >>> _frame_length(bytes.fromhex("fffb90c4")), _frame_length(b"TAG ")
    (417, None)
    """
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return None
    version, rate, speed = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or rate in (0, 15) or speed == 3:
        return None
    bits = BIT_RATES[0 if version == 3 else 1][rate] * 1000
    samples = 1152 if version == 3 else 576
    return samples // 8 * bits // SAMPLE_RATES[version][speed] + (head[2] >> 1 & 1)


CHECKS: dict[bytes, Callable[[BinaryIO, int], Whole]] = {b"RIFF": _wav, b"OggS": _ogg}
