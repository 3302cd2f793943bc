"""PNG files as `Image`: every chunk counted and every row known to be there before pixels are decoded."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from staf._extras import need
from staf.kinds.image.colour import fitting_profile
from staf.kinds.image.conversion import ORIENTATION_TAG, upright
from staf.kinds.image.pillow_reading import read_with_pillow
from staf.kinds.image.signal import Image
from staf.kinds.limits import EXTRAS, check_enough, check_size
from staf.signals.errors import SignalError, damaged

SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# The first column and row of each pass of an interlaced image, and the steps between its pixels.
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
# Deflate codes at most 258 bytes in 2 bits.
MOST_PER_BYTE = 1032
BLOCK = 1 << 20


def read_png(path: Path, max_pixels: int) -> Image:
    """A PNG of any kind. 16 bits are decoded by libpng itself, since Pillow would read colour as 8."""
    from PIL.PngImagePlugin import PngImageFile

    with path.open("rb") as file:
        layout = read_layout(file, max_pixels)
        check_rows(file, layout)
    if layout.depth < 16:
        return read_with_pillow(path, PngImageFile, max_pixels)
    imagecodecs = need("image", "imagecodecs")

    told = read_extras(path, layout)
    pixels = imagecodecs.png_decode(path.read_bytes())
    pixels, turned = upright(pixels, told.orientation)
    kept, said = fitting_profile(told.profile, 1 if pixels.ndim == 2 else pixels.shape[2])
    return Image(pixels, profile=kept, notes=[*turned, *said])


class Extras(NamedTuple):
    """What a PNG says beside its pixels: its colour profile, how it is turned, and whether a colour is transparent."""

    profile: bytes | None
    orientation: int
    transparent: bool


def read_extras(path: Path, layout: Layout) -> Extras:
    """Pillow's reading of a PNG's chunks; nothing of its pixels is decoded."""
    import PIL.Image
    from PIL.PngImagePlugin import PngImageFile

    with path.open("rb") as file, PngImageFile(file) as picture:
        told = PIL.Image.Exif()
        if "exif" in picture.info or "Raw profile type exif" in picture.info:
            told = picture.getexif()
        elif layout.exif is not None:
            # It may also follow the pixels, which Pillow would decode to find it.
            offset, length = layout.exif
            file.seek(offset)
            told.load(file.read(length))
        turned = told.get(ORIENTATION_TAG, 1)
        return Extras(picture.info.get("icc_profile"), turned, "transparency" in picture.info)


@dataclass
class Layout:
    """What a PNG's chunks say: its size, and where its compressed rows and its EXIF lie, as (offset, length)."""

    width: int
    height: int
    depth: int
    colour: int
    interlaced: bool
    data: list[tuple[int, int]] = field(default_factory=list)
    exif: tuple[int, int] | None = None

    @property
    def row_bytes(self) -> int:
        """The bytes of all rows, each with its filter's number, before compression.

        >>> Layout(4, 4, 8, 2, False).row_bytes, Layout(4, 4, 8, 2, True).row_bytes
        (52, 55)
        """
        if not self.interlaced:
            return self._rows(self.width, self.height)
        return sum(
            self._rows(-(-(self.width - x) // dx), -(-(self.height - y) // dy))
            for x, y, dx, dy in PASSES
            if x < self.width and y < self.height
        )

    def _rows(self, width: int, height: int) -> int:
        return height * (1 + -(-width * SAMPLES[self.colour] * self.depth // 8))


def read_layout(file: BinaryIO, max_pixels: int) -> Layout:
    """Walks over the chunks without reading what is in them."""
    size = os.fstat(file.fileno()).st_size
    head = file.read(33)
    if len(head) < 33 or head[12:16] != b"IHDR":
        raise damaged("the PNG header is not whole")
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", head[16:29])
    check_size(width, height, max_pixels)
    if colour not in SAMPLES or depth not in (1, 2, 4, 8, 16) or interlace > 1:
        raise damaged(f"no PNG has colour type {colour}, {depth} bits and interlacing {interlace}")
    layout = Layout(width, height, depth, colour, bool(interlace))
    extras = 0
    for kind, offset, length in _chunks(file, size):
        if kind == b"IDAT":
            layout.data.append((offset, length))
        else:
            extras += length
            layout.exif = (offset, length) if kind == b"eXIf" else layout.exif
    if extras > EXTRAS:
        raise SignalError(f"it holds {extras:,} bytes beside its pixels, more than {EXTRAS:,}")
    check_enough(sum(length for _, length in layout.data), layout.row_bytes / MOST_PER_BYTE, f"{width}x{height} pixels")
    return layout


def _chunks(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Kind, offset and length of every chunk after the header, up to the end that must be there."""
    offset, most = 33, 1000 + size // 256
    for _ in range(most):
        file.seek(offset)
        head = file.read(8)
        length = int.from_bytes(head[:4], "big")
        if len(head) < 8 or offset + 12 + length > size:
            raise damaged(f"its last chunk is cut short at byte {size:,}")
        kind = head[4:]
        if not kind.isalpha() or length > 2**31 - 1:
            raise damaged(f"there is no PNG chunk at byte {offset:,}")
        if kind == b"IEND":
            return
        yield kind, offset + 8, length
        offset += 12 + length
    raise damaged(f"more than {most:,} chunks in {size:,} bytes")


def check_rows(file: BinaryIO, layout: Layout) -> None:
    """Refuses a PNG whose compressed data end before the last row, which decoders leave black without a word.

    Nothing is kept of what is decompressed, so that this needs a block of memory and no more.
    """
    expected, found = layout.row_bytes, 0
    decoder = zlib.decompressobj()
    for offset, length in layout.data:
        file.seek(offset)
        while length and found < expected and not decoder.eof:
            packed = file.read(min(BLOCK, length))
            length -= len(packed)
            while packed and not decoder.eof and found < expected:
                try:
                    found += len(decoder.decompress(packed, BLOCK))
                except zlib.error as error:
                    raise damaged(f"its pixels cannot be decompressed ({error})") from error
                packed = decoder.unconsumed_tail
    found += len(decoder.flush())
    if found < expected:
        raise damaged(f"{found:,} of {expected:,} bytes of its rows are there")
