"""JPEG files as `Image`: size, passes and amount of data read from the markers before pixels are decoded."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from staf.kinds.image.pillow_reading import read_with_pillow
from staf.kinds.image.signal import Image
from staf.kinds.limits import check_enough, check_size
from staf.signals.errors import SignalError, damaged

# Start of frame: every number from 0xC0 that is not a table (C4, CC) or reserved (C8).
FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
PROGRESSIVE, ARITHMETIC = {0xC2, 0xC6, 0xCA, 0xCE}, {0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
BARE = {0x01, 0xD8, *range(0xD0, 0xD8)}
SCAN, END = 0xDA, 0xD9
# In compressed data a 0xFF is followed by zero, or by the number of a restart.
MARKER = re.compile(rb"\xff+[^\x00\xd0-\xd7\xff]")
# Every block of 8x8 takes a bit for its mean, and another where its details come in the same pass. Arithmetic coding
# can do with less.
BITS_OF_A_BLOCK = {"sequential": 2.0, "progressive": 1.0, "arithmetic": 0.02}
# A picture is sent in some ten passes. Each costs a visit to every block, so that many are only for small pictures.
PASSES, PIXELS_IN_MORE_PASSES = 32, 2**28
BLOCK = 1 << 20
# Bytes that belong to nothing: decoders skip them one by one in search of a marker.
MOST_JUNK = 1 << 16
MOST_SEGMENTS = 10_000


def read_jpeg(path: Path, max_pixels: int) -> Image:
    """A JPEG: grey, colour or CMYK, 8 bits."""
    from PIL.JpegImagePlugin import JpegImageFile

    with path.open("rb") as file:
        found = survey(file)
    found.check(max_pixels)
    image = read_with_pillow(path, JpegImageFile, max_pixels)
    check_end(path, found, image.array[:: max(1, image.height - 1), :: max(1, image.width - 1)])
    return image


def check_end(path: Path, found: Survey, corners: np.ndarray) -> None:
    """Refuses a JPEG whose data end before its last row, where the decoder puts grey and says nothing.

    `corners` (..., c) are those of the decoded picture, which may be turned: only if one is grey is there more to do.
    """
    grey = (np.abs(corners.astype(np.int16) - 128) <= 2).all(-1).any()
    if grey and _depends_on_what_follows(path.read_bytes(), found.end):
        raise damaged("its data end before its last row")


@dataclass
class Survey:
    """What the markers of a JPEG say."""

    width: int
    height: int
    blocks: int
    coding: str
    passes: int = 0
    stored: int = 0
    end: int = 0

    def check(self, max_pixels: int) -> None:
        """Refuses what is too large, what its bytes cannot hold, and what takes too many passes."""
        check_size(self.width, self.height, max_pixels)
        what = f"{self.width}x{self.height} pixels"
        check_enough(self.stored, self.blocks * BITS_OF_A_BLOCK[self.coding] / 8, what)
        if self.passes > PASSES and self.passes * self.width * self.height > PIXELS_IN_MORE_PASSES:
            raise SignalError(f"its {what} come in {self.passes:,} passes, and at most {PASSES} are decoded")


def survey(file: BinaryIO) -> Survey:
    """Reads the markers of a JPEG, and skips what lies between them."""
    size = os.fstat(file.fileno()).st_size if not isinstance(file, io.BytesIO) else len(file.getbuffer())
    found: Survey | None = None
    offset, passes, stored, end = 2, 0, 0, size
    for _ in range(MOST_SEGMENTS):
        offset, marker = _next_marker(file, offset, size)
        if marker is None or marker == END:
            end = offset - 2 if marker == END else size
            break
        if marker in BARE:
            continue
        file.seek(offset)
        length = int.from_bytes(file.read(2), "big")
        if length < 2 or offset + length > size:
            raise damaged(f"the segment at byte {offset:,} has no end")
        if marker in FRAMES:
            found = found or _frame(file.read(min(length - 2, 1024)), marker)
        offset += length
        if marker == SCAN:
            passes += 1
            behind = _end_of_scan(file, offset, size)
            stored, offset = stored + behind - offset, behind
    else:
        raise damaged(f"it has more than {MOST_SEGMENTS:,} segments")
    if found is None or not passes:
        raise damaged("no picture follows its header")
    found.passes, found.stored, found.end = passes, stored, end
    return found


def has_picture(tables: bytes) -> bool:
    """Whether what should be nothing but tables holds a frame or a scan.

    >>> has_picture(bytes.fromhex("ffd8 ffdb 0004 0000 ffd9"))
    False
    """
    offset = 2
    while offset + 4 <= len(tables) and tables[offset] == 0xFF:
        if tables[offset + 1] in FRAMES or tables[offset + 1] == SCAN:
            return True
        if tables[offset + 1] == END:
            return False
        offset += 2 + int.from_bytes(tables[offset + 2 : offset + 4], "big")
    return offset + 2 < len(tables)


def _next_marker(file: BinaryIO, offset: int, size: int) -> tuple[int, int | None]:
    """The number of the marker at `offset` or soon after it, and the offset behind it."""
    file.seek(offset)
    ahead = file.read(2)
    if not MARKER.fullmatch(ahead):
        ahead += file.read(MOST_JUNK)
    match = MARKER.search(ahead)
    if match is not None:
        return offset + match.end(), ahead[match.end() - 1]
    if offset + len(ahead) < size:
        raise damaged(f"no marker follows byte {offset:,}")
    return size, None


def _end_of_scan(file: BinaryIO, offset: int, size: int) -> int:
    """Where the compressed data that begin at `offset` end."""
    file.seek(offset)
    kept = b""
    while block := file.read(BLOCK):
        kept += block
        match = MARKER.search(kept)
        if match is not None:
            return offset + match.start()
        # A marker may be cut in two by the end of a block.
        offset, kept = offset + len(kept) - 1, kept[-1:]
    return size


def _frame(data: bytes, marker: int) -> Survey:
    if len(data) < 6 or len(data) < 6 + 3 * data[5]:
        raise damaged("its frame header is not whole")
    height, width, components = int.from_bytes(data[1:3], "big"), int.from_bytes(data[3:5], "big"), data[5]
    across = [data[7 + 3 * index] >> 4 for index in range(components)]
    down = [data[7 + 3 * index] & 15 for index in range(components)]
    blocks = sum(
        -(-width * h // (8 * max(across, default=1) or 1)) * -(-height * v // (8 * max(down, default=1) or 1))
        for h, v in zip(across, down, strict=True)
    )
    coding = "arithmetic" if marker in ARITHMETIC else "progressive" if marker in PROGRESSIVE else "sequential"
    return Survey(width, height, blocks, coding)


def _depends_on_what_follows(data: bytes, end: int) -> bool:
    """Whether bytes put in before the `end` marker change the picture: then its own ran out before the last row."""
    from PIL.JpegImagePlugin import JpegImageFile

    seen = []
    for filling in (b"", bytes(range(1, 255)) * 4):
        with JpegImageFile(io.BytesIO(data[:end] + filling + data[end:])) as picture:
            picture.draft("L", (1, 1))
            seen.append(np.asarray(picture))
    return not np.array_equal(seen[0], seen[1])
