"""Files decoded a band of rows at a time: TIFF in strips or tiles, PNG in rows, JPEG from Pillow's own memory.

What needs a conversion of its pixels (palettes, CMYK, turned or interlaced pictures, odd bit depths) is None here: the
ordinary readers take it whole.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from staf.kinds.image.colour import fitting_profile
from staf.kinds.image.conversion import ORIENTATION_TAG
from staf.kinds.image.jpeg_reading import Survey, check_end, survey
from staf.kinds.image.png_reading import read_extras, read_layout
from staf.kinds.image.tiff_directory import read_directory
from staf.kinds.image.tiff_reading import RGB, notes_of, read_profile
from staf.kinds.image.tiff_segments import Samples
from staf.ops.png_rows import unfiltered
from staf.signals.errors import SignalError, damage_named

# Bytes of a band, where the file does not decide that.
BAND_BYTES = 2**26
PNG_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


@dataclass(frozen=True)
class Banded:
    """An image as bands (k, w, c) from the top; `bands()` starts from the beginning each time it is called."""

    shape: tuple[int, int, int]
    dtype: np.dtype
    profile: bytes | None
    notes: tuple[str, ...]
    bands: Any

    @property
    def nbytes(self) -> int:
        height, width, channels = self.shape
        return height * width * channels * self.dtype.itemsize


def tiff_bands(path: Path, max_pixels: int) -> Banded | None:
    """The first page of a TIFF, if its samples are 8 or 16 bits or float32, side by side and upright."""
    with path.open("rb") as file:
        directory = read_directory(file)
        samples = Samples.of(directory, max_pixels)
        direct = (
            samples.photometric in (1, RGB)
            and samples.dtype.name in ("uint8", "uint16", "float32")
            and samples.bits == 8 * samples.dtype.itemsize
            and directory.number(ORIENTATION_TAG, 1) == 1
            and not samples.planar
        )
        if not direct:
            return None
        notes = notes_of(samples)
        if 1 in directory.numbers(338, (0,)):
            notes.append("alpha is stored premultiplied and kept so")
        profile, said = fitting_profile(read_profile(directory), samples.channels)
    shape = (samples.height, samples.width, samples.channels)
    return Banded(shape, samples.dtype, profile, (*notes, *said), lambda: _tiff(path, max_pixels))


def _tiff(path: Path, max_pixels: int) -> Iterator[np.ndarray]:
    with damage_named("TIFF"), path.open("rb") as file:
        yield from Samples.of(read_directory(file), max_pixels).bands()


def png_bands(path: Path, max_pixels: int) -> Banded | None:
    """A PNG of 8 or 16 bits in grey or colour, not interlaced, without a palette or a transparent colour."""
    with path.open("rb") as file:
        layout = read_layout(file, max_pixels)
    if layout.depth not in (8, 16) or layout.colour not in PNG_CHANNELS or layout.interlaced:
        return None
    told = read_extras(path, layout)
    if told.orientation != 1 or told.transparent:
        return None
    shape, dtype = (layout.height, layout.width, PNG_CHANNELS[layout.colour]), np.dtype(f"uint{layout.depth}")
    profile, said = fitting_profile(told.profile, shape[2])
    return Banded(shape, dtype, profile, tuple(said), lambda: _png(path, shape, dtype))


def _png(path: Path, shape: tuple[int, int, int], dtype: np.dtype) -> Iterator[np.ndarray]:
    height, width, channels = shape
    step = channels * dtype.itemsize
    line = 1 + width * step
    rows = max(1, BAND_BYTES // line)
    above = np.zeros(line - 1, np.uint8)
    done, pending = 0, bytearray()
    for data in _inflated(path, rows * line):
        pending += data
        count = min(len(pending) // line, height - done)
        if count < rows and done + count < height:
            continue
        filtered = np.frombuffer(bytes(pending[: count * line]), np.uint8).reshape(count, line)
        del pending[: count * line]
        try:
            plain = unfiltered(filtered, above, step)
        except ValueError as error:
            raise SignalError(f"it is damaged: {error}") from None
        above = plain[-1].copy()
        stored = np.ascontiguousarray(plain).view(dtype.newbyteorder(">")).reshape(count, width, channels)
        done += count
        yield stored.astype(dtype, copy=False)
        if done == height:
            return
    raise SignalError(f"it is damaged or cut short: {done} of {height} rows are whole")


def _inflated(path: Path, most: int) -> Iterator[bytes]:
    """The decompressed data of a PNG's IDAT chunks, at most `most` bytes at a time, checksums verified."""
    inflater = zlib.decompressobj()
    with path.open("rb") as file:
        file.seek(8)
        while True:
            head = file.read(8)
            if len(head) < 8:
                return
            length, kind = struct.unpack(">I4s", head)
            if kind == b"IEND":
                return
            if kind != b"IDAT":
                file.seek(length + 4, 1)
                continue
            checksum, left = zlib.crc32(kind), length
            while left > 0:
                packed = file.read(min(left, 2**20))
                if not packed:
                    return
                left -= len(packed)
                checksum = zlib.crc32(packed, checksum)
                while packed:
                    try:
                        yield inflater.decompress(packed, most)
                    except zlib.error as error:
                        raise SignalError(f"it is damaged: {error}") from None
                    packed = inflater.unconsumed_tail
            if struct.unpack(">I", file.read(4).ljust(4, b"\0"))[0] != checksum:
                raise SignalError("it is damaged: a checksum of its pixels is wrong")


def jpeg_bands(path: Path, max_pixels: int) -> Banded | None:
    """A grey or colour JPEG. Pillow decodes it whole, in four bytes a pixel; nothing else of its size is made."""
    from PIL.JpegImagePlugin import JpegImageFile

    with path.open("rb") as file:
        found = survey(file)
    found.check(max_pixels)
    with damage_named("JPEG"), path.open("rb") as file, JpegImageFile(file) as picture:
        width, height = picture.size
        if picture.mode not in ("L", "RGB") or picture.getexif().get(ORIENTATION_TAG, 1) != 1:
            return None
        channels = len(picture.getbands())
        profile, said = fitting_profile(picture.info.get("icc_profile"), channels)
    shape, dtype = (height, width, channels), np.dtype(np.uint8)
    return Banded(shape, dtype, profile, tuple(said), lambda: _jpeg(path, found, shape))


def _jpeg(path: Path, found: Survey, shape: tuple[int, int, int]) -> Iterator[np.ndarray]:
    from PIL.JpegImagePlugin import JpegImageFile

    height, width, channels = shape
    rows = max(1, BAND_BYTES // (width * channels))
    with damage_named("JPEG"), path.open("rb") as file, JpegImageFile(file) as picture:
        picture.load()
        last = np.asarray(picture.crop((width - 1, height - 1, width, height)))
        check_end(path, found, last.reshape(1, channels))
        for top in range(0, height, rows):
            band = picture.crop((0, top, width, min(height, top + rows)))
            yield np.asarray(band).reshape(-1, width, channels)
