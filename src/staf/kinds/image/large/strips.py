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

from staf._extras import need
from staf.kinds.image.colour import fitting_profile
from staf.kinds.image.conversion import ORIENTATION_TAG
from staf.kinds.image.reading import check_size
from staf.kinds.image.tiff_reading import quiet
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
    tifffile = need("image", "tifffile")

    with damage_named("TIFF"), quiet("tifffile"), tifffile.TiffFile(path) as file:
        page: Any = file.pages[0]
        check_size(page.imagewidth, page.imagelength, max_pixels)
        photometric = getattr(page.photometric, "name", "")
        direct = (
            photometric in ("MINISBLACK", "RGB")
            and page.imagedepth == 1
            and page.samplesperpixel <= 4
            and page.dtype is not None
            and page.dtype.name in ("uint8", "uint16", "float32")
            and page.bitspersample == 8 * page.dtype.itemsize
            and page.tags.valueof(ORIENTATION_TAG, 1) == 1
            and (page.samplesperpixel == 1 or getattr(page.planarconfig, "name", "") == "CONTIG")
        )
        if not direct:
            return None
        shape = (page.imagelength, page.imagewidth, page.samplesperpixel)
        dtype = np.dtype(page.dtype.name)
        notes = [f"the first of {len(file.pages)} pages is used"] if len(file.pages) > 1 else []
        if 1 in page.extrasamples:
            notes.append("alpha is stored premultiplied and kept so")
        profile, said = fitting_profile(page.iccprofile, shape[2])
    return Banded(shape, dtype, profile, (*notes, *said), lambda: _tiff(path, shape, dtype))


def _tiff(path: Path, shape: tuple[int, int, int], dtype: np.dtype) -> Iterator[np.ndarray]:
    tifffile = need("image", "tifffile")

    height, width, channels = shape
    with damage_named("TIFF"), quiet("tifffile"), tifffile.TiffFile(path) as file:
        page: Any = file.pages[0]
        band, top = np.zeros((0, width, channels), dtype), 0
        for segment, (_, _, y, x, _), (_, rows, _, _) in page.segments(maxworkers=1):
            if y >= top + len(band):
                if len(band):
                    yield band
                    top += len(band)
                band = np.zeros((min(rows, height - top), width, channels), dtype)
            # A segment that the file leaves out is all zero.
            if segment is not None:
                part = segment[0, : height - y, : width - x]
                band[y - top : y - top + len(part), x : x + part.shape[1]] = part
        yield band


def png_bands(path: Path, max_pixels: int) -> Banded | None:
    """A PNG of 8 or 16 bits in grey or colour, not interlaced, without a palette or a transparent colour."""
    from PIL.PngImagePlugin import PngImageFile

    with path.open("rb") as file:
        head = file.read(29)
    if len(head) < 29 or head[12:16] != b"IHDR":
        raise SignalError("it is damaged or cut short: the PNG header is not whole")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head[16:29])
    check_size(width, height, max_pixels)
    if depth not in (8, 16) or colour not in PNG_CHANNELS or interlaced:
        return None
    with damage_named("PNG"), path.open("rb") as file, PngImageFile(file) as picture:
        embedded, turned = picture.info.get("icc_profile"), picture.getexif().get(ORIENTATION_TAG, 1)
        if turned != 1 or "transparency" in picture.info:
            return None
    shape, dtype = (height, width, PNG_CHANNELS[colour]), np.dtype(f"uint{depth}")
    profile, said = fitting_profile(embedded, shape[2])
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

    with damage_named("JPEG"), path.open("rb") as file, JpegImageFile(file) as picture:
        width, height = picture.size
        check_size(width, height, max_pixels)
        if picture.mode not in ("L", "RGB") or picture.getexif().get(ORIENTATION_TAG, 1) != 1:
            return None
        channels = len(picture.getbands())
        profile, said = fitting_profile(picture.info.get("icc_profile"), channels)
    shape, dtype = (height, width, channels), np.dtype(np.uint8)
    return Banded(shape, dtype, profile, tuple(said), lambda: _jpeg(path, shape))


def _jpeg(path: Path, shape: tuple[int, int, int]) -> Iterator[np.ndarray]:
    from PIL.JpegImagePlugin import JpegImageFile

    height, width, channels = shape
    rows = max(1, BAND_BYTES // (width * channels))
    with damage_named("JPEG"), path.open("rb") as file, JpegImageFile(file) as picture:
        picture.load()
        for top in range(0, height, rows):
            band = picture.crop((0, top, width, min(height, top + rows)))
            yield np.asarray(band).reshape(-1, width, channels)
