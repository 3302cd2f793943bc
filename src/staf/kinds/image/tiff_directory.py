"""The first directory of a TIFF: its tags, read one by one when asked for, and never more of them than the file holds.

Only what an image needs is read. Directories of makers and other programs, which general readers follow into structures
of their own, are left alone.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO, Literal

import numpy as np

from staf.signals.errors import SignalError, damaged

# Bytes of one value and its letter for `struct`, by the number of its type; rationals are not needed for an image.
TYPES = {1: (1, "B"), 2: (1, "B"), 3: (2, "H"), 4: (4, "I"), 6: (1, "b"), 7: (1, "B"), 8: (2, "h"), 9: (4, "i"),
         13: (4, "I"), 16: (8, "Q"), 17: (8, "q"), 18: (8, "Q")}  # fmt: skip
MOST_TAGS = 4096
# Pages are counted up to here, for the note that only the first is used.
MOST_PAGES = 1000


@dataclass(frozen=True)
class Directory:
    """Where each tag's values lie: code to (type, count, offset)."""

    file: BinaryIO
    size: int
    order: Literal["<", ">"]
    tags: dict[int, tuple[int, int, int]]
    pages: int

    def numbers(self, code: int, default: tuple[int, ...] | None = None, most: int = 16) -> tuple[int, ...]:
        """The whole numbers of a tag, of which there must be 1 to `most`; `default` where the tag is missing."""
        if code not in self.tags:
            if default is None:
                raise damaged(f"its TIFF tag {code} is missing")
            return default
        kind, count, _ = self.tags[code]
        if kind not in TYPES or not 1 <= count <= most:
            raise damaged(f"its TIFF tag {code} has {count} values of type {kind}, and 1 to {most:,} are needed")
        values = struct.unpack(f"{self.order}{count}{TYPES[kind][1]}", self.raw(code))
        if min(values) < 0:
            raise damaged(f"its TIFF tag {code} is negative")
        return values

    def places(self, code: int, count: int) -> np.ndarray:
        """The first `count` numbers of a tag that lists offsets or lengths, int64 (count,)."""
        kind, held, offset = self.tags.get(code, (0, 0, 0))
        if held < count or kind not in (3, 4, 13, 16, 18):
            raise damaged(f"{held:,} of {count:,} strips or tiles are there")
        width, letter = TYPES[kind]
        listed = np.frombuffer(read_at(self.file, offset, count * width), f"{self.order}{letter}")
        # No file reaches beyond int64; an offset behind the end of the file is refused by its reader.
        return np.minimum(listed.astype(np.uint64), np.uint64(1 << 61)).astype(np.int64)

    def colours(self) -> np.ndarray:
        """The palette, of 16-bit numbers (n, 3)."""
        listed = self.numbers(320, most=3 << 16)
        if len(listed) % 3 or max(listed) > 65535:
            raise damaged(f"its palette has {len(listed)} numbers")
        return np.array(listed, np.uint16).reshape(3, -1).T

    def number(self, code: int, default: int | None = None) -> int:
        """The first number of a tag."""
        return self.numbers(code, None if default is None else (default,))[0]

    def raw(self, code: int) -> bytes:
        """The bytes of a tag's values."""
        kind, count, offset = self.tags[code]
        length = count * TYPES[kind][0] if kind in TYPES else 0
        if offset + length > self.size:
            raise damaged(f"its TIFF tag {code} lies behind the end of the file")
        return read_at(self.file, offset, length)


def read_directory(file: BinaryIO) -> Directory:
    """The first directory of a TIFF or BigTIFF."""
    size = os.fstat(file.fileno()).st_size
    head = read_at(file, 0, min(16, size))
    order: Literal["<", ">"] = "<" if head[:2] == b"II" else ">"
    big = head[2:4] in (b"+\0", b"\0+")
    # The number of tags, one tag's code and type, its count, and an offset, in this order.
    formats = (f"{order}Q", f"{order}HHQ", f"{order}Q") if big else (f"{order}H", f"{order}HHI", f"{order}I")
    widths = tuple(struct.calcsize(part) for part in formats)
    start = 8 if big else 4
    if len(head) < start + widths[2]:
        raise damaged("its TIFF header is not whole")
    (first,) = struct.unpack_from(formats[2], head, start)
    entries = _entries(file, first, size, formats, widths)
    tags: dict[int, tuple[int, int, int]] = {}
    step = widths[1] + widths[2]
    for index in range(len(entries) // step):
        code, kind, count = struct.unpack_from(formats[1], entries, index * step)
        inline = kind not in TYPES or count * TYPES[kind][0] <= widths[2]
        offset = first + widths[0] + index * step + widths[1]
        if not inline:
            (offset,) = struct.unpack_from(formats[2], entries, index * step + widths[1])
        tags.setdefault(code, (kind, count, offset))
    return Directory(file, size, order, tags, _count_pages(file, first, size, formats, widths))


def _entries(file: BinaryIO, offset: int, size: int, formats: tuple[str, ...], widths: tuple[int, ...]) -> bytes:
    """The tags of the directory at `offset`, as they lie in the file."""
    if offset + widths[0] > size:
        raise damaged("its TIFF directory lies behind the end of the file")
    (count,) = struct.unpack(formats[0], read_at(file, offset, widths[0]))
    length = count * (widths[1] + widths[2])
    if not 1 <= count <= MOST_TAGS or offset + widths[0] + length > size:
        raise damaged(f"its TIFF directory has {count:,} tags, which are not there")
    return read_at(file, offset + widths[0], length)


def _count_pages(file: BinaryIO, offset: int, size: int, formats: tuple[str, ...], widths: tuple[int, ...]) -> int:
    """How many directories follow each other, up to `MOST_PAGES` or to the first that is not there."""
    seen: set[int] = set()
    while offset and offset not in seen and len(seen) < MOST_PAGES:
        try:
            behind = offset + widths[0] + len(_entries(file, offset, size, formats, widths))
        except SignalError:
            break
        seen.add(offset)
        if behind + widths[2] > size:
            break
        (offset,) = struct.unpack(formats[2], read_at(file, behind, widths[2]))
    return len(seen)


def read_at(file: BinaryIO, offset: int, length: int) -> bytes:
    """Exactly `length` bytes from `offset` on."""
    file.seek(offset)
    data = file.read(length)
    if len(data) < length:
        raise damaged(f"{length:,} bytes at {offset:,} are not there")
    return data
