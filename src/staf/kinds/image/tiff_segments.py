"""The strips or tiles of a TIFF as one array of samples: each known to be there, and to fit, before it is decoded."""

from __future__ import annotations

import io
import lzma
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from staf._extras import need
from staf.kinds.image.jpeg_reading import has_picture, survey
from staf.kinds.image.tiff_directory import Directory, read_at
from staf.kinds.limits import MEBIBYTE, check_enough, check_ratio, check_size
from staf.signals.errors import SignalError, damaged

JPEG = 7
YCBCR = 6
SAMPLE_FORMATS = {1: "u", 2: "i", 3: "f", 4: "u"}
# A tile may be larger than a small image, not by much more than this many pixels.
LARGE_TILE = 1 << 22
# More strips or tiles than these must have some pixels each.
MANY_SEGMENTS, FEW_PIXELS = 100_000, 256
# Bytes that a file may unfold into for each of its own where it leaves strips or tiles out.
SPARSE_RATIO = 1 << 14


class Coding(NamedTuple):
    """A compression: its name, how to undo it given the expected number of bytes, and how much a byte can become."""

    name: str
    decode: Callable[[bytes, int], bytes]
    most_per_byte: int


def _lzw(data: bytes, expected: int) -> bytes:
    imagecodecs = need("image", "imagecodecs")

    return bytes(imagecodecs.lzw_decode(data, out=expected))


def _packbits(data: bytes, expected: int) -> bytes:
    imagecodecs = need("image", "imagecodecs")

    # A run may end behind the last row.
    return bytes(imagecodecs.packbits_decode(data, out=expected + 128))


def _zstandard(data: bytes, expected: int) -> bytes:
    imagecodecs = need("image", "imagecodecs")

    return bytes(imagecodecs.zstd_decode(data, out=expected))


def _deflate(data: bytes, expected: int) -> bytes:
    return zlib.decompressobj().decompress(data, expected)


def _lzma(data: bytes, expected: int) -> bytes:
    return lzma.LZMADecompressor(memlimit=128 * MEBIBYTE).decompress(data, expected)


CODINGS = {
    1: Coding("none", lambda data, expected: data, 1),
    5: Coding("LZW", _lzw, 2560),
    JPEG: Coding("JPEG", lambda data, expected: data, 1 << 20),
    8: Coding("deflate", _deflate, 1032),
    32773: Coding("PackBits", _packbits, 64),
    32946: Coding("deflate", _deflate, 1032),
    34925: Coding("LZMA", _lzma, 1 << 16),
    50000: Coding("Zstandard", _zstandard, 1 << 16),
}


@dataclass(frozen=True)
class Samples:
    """How the samples of a TIFF are stored, all of it checked against each other and against the size of the file."""

    directory: Directory
    width: int
    height: int
    channels: int
    bits: int
    dtype: np.dtype
    photometric: int
    coding: Coding
    predictor: int
    reversed_bits: bool
    planar: bool
    tiled: bool
    segment_width: int
    segment_height: int
    offsets: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, directory: Directory, max_pixels: int) -> Samples:
        """The layout that a directory describes."""
        width, height = directory.number(256), directory.number(257)
        check_size(width, height, max_pixels)
        channels = directory.number(277, 1)
        if not 1 <= channels <= 4:
            raise SignalError(f"an image must have 1 to 4 channels, got {channels}")
        if directory.number(32997, 1) != 1:
            raise SignalError(f"a TIFF must have one layer of pixels, got {directory.number(32997, 1)}")
        code = directory.number(259, 1)
        if code not in CODINGS:
            names = ", ".join(dict.fromkeys(coding.name for coding in CODINGS.values()))
            raise SignalError(f"compression of a TIFF must be one of {names}, got number {code}")
        bits, dtype = _type(directory, channels)
        predictor = directory.number(317, 1)
        whole = bits in (8, 16, 32, 64)
        if predictor not in (1, 2, 3) or (predictor == 3 and not (dtype.kind == "f" and whole)):
            raise damaged(f"no TIFF has predictor {predictor} with {bits}-bit samples of type {dtype.name}")
        tiled = 322 in directory.tags
        if tiled:
            across, down = directory.number(322), directory.number(323)
        else:
            across, down = width, min(height, directory.number(278, height))
        if across < 1 or down < 1 or (across * down > max(LARGE_TILE, 4 * width * height)):
            raise damaged(f"its tiles have {across}x{down} pixels, and the whole image {width}x{height}")
        planar = channels > 1 and directory.number(284, 1) == 2
        count = -(-width // across) * -(-height // down) * (channels if planar else 1)
        if count > MANY_SEGMENTS and width * height * channels < FEW_PIXELS * count:
            raise damaged(f"its {width}x{height} pixels lie in {count:,} strips or tiles")
        offsets, lengths = _places(directory, tiled, count)
        samples = cls(
            directory, width, height, channels, bits, dtype, directory.number(262, 1 if channels < 3 else 2),
            CODINGS[code], predictor, directory.number(266, 1) == 2, planar, tiled, across, down, offsets, lengths,
        )  # fmt: skip
        samples._check_amount()
        return samples

    def _check_amount(self) -> None:
        decoded = len(self.offsets) * self._segment_bytes(self.segment_height)
        if not self.tiled:
            # The last strip is shorter.
            decoded = (self.channels if self.planar else 1) * self._segment_bytes(self.height)
        # Several may lie at one place.
        stored = min(int(self.lengths.sum()), self.directory.size)
        what = f"{self.width}x{self.height} pixels"
        if self.left_out:
            check_ratio(decoded, self.directory.size, SPARSE_RATIO, what)
            decoded = decoded * (len(self.offsets) - self.left_out) // len(self.offsets)
        if self.coding.name in ("LZMA", "Zstandard"):
            check_ratio(decoded, stored, self.coding.most_per_byte, what)
        else:
            check_enough(stored, decoded / self.coding.most_per_byte, what)

    @property
    def left_out(self) -> int:
        """How many strips or tiles the file leaves out: they are all zero."""
        return int((self.lengths == 0).sum())

    def _segment_bytes(self, rows: int) -> int:
        return rows * -(-self.segment_width * self._inside * self.bits // 8)

    @property
    def _inside(self) -> int:
        """Channels within one segment."""
        return 1 if self.planar else self.channels

    def read(self) -> np.ndarray:
        """The samples as (height, width, channels)."""
        out: np.ndarray | None = None
        for plane, top, left, rows, segment in self._segments():
            rows, columns = min(rows, self.height - top), min(self.segment_width, self.width - left)
            part = segment[:rows, :columns]
            if part.shape[:2] != (rows, columns):
                raise damaged(f"a strip or tile of {columns}x{rows} pixels holds {part.shape[1]}x{part.shape[0]}")
            if part.shape == (self.height, self.width, self.channels):
                return part
            if out is None:
                out = np.empty((self.height, self.width, self.channels), part.dtype)
            channel = slice(plane, plane + 1) if self.planar else slice(None)
            out[top : top + rows, left : left + columns, channel] = part
        assert out is not None
        return out

    def bands(self) -> Iterator[np.ndarray]:
        """The samples of images that are not planar, in bands (rows, width, channels) from the top."""
        band: np.ndarray | None = None
        start = 0
        for _, top, left, rows, segment in self._segments():
            rows, columns = min(rows, self.height - top), min(self.segment_width, self.width - left)
            part = segment[:rows, :columns]
            if part.shape[:2] != (rows, columns):
                raise damaged(f"a strip or tile of {columns}x{rows} pixels holds {part.shape[1]}x{part.shape[0]}")
            if columns == self.width:
                yield part
                continue
            if band is None or top != start:
                if band is not None:
                    yield band
                band, start = np.empty((rows, self.width, self.channels), part.dtype), top
            band[:, left : left + columns] = part
        if band is not None:
            yield band

    def _segments(self) -> Iterator[tuple[int, int, int, int, np.ndarray]]:
        """Plane, top row, left column, number of rows, and samples (rows, columns, channels) of every segment."""
        across, down = -(-self.width // self.segment_width), -(-self.height // self.segment_height)
        for index, (offset, length) in enumerate(zip(self.offsets, self.lengths, strict=True)):
            plane, place = divmod(index, across * down)
            top, left = place // across * self.segment_height, place % across * self.segment_width
            rows = self.segment_height if self.tiled else min(self.segment_height, self.height - top)
            if length == 0:
                yield plane, top, left, rows, np.zeros((rows, self.segment_width, self._inside), self.dtype)
                continue
            data = read_at(self.directory.file, int(offset), int(length))
            if self.coding is CODINGS[JPEG]:
                yield plane, top, left, rows, self._jpeg(data, rows)
            else:
                yield plane, top, left, rows, self._unpacked(data, rows)

    def _unpacked(self, data: bytes, rows: int) -> np.ndarray:
        expected = self._segment_bytes(rows)
        if self.reversed_bits:
            data = _REVERSED[np.frombuffer(data, np.uint8)].tobytes()
        raw = self.coding.decode(data, expected)
        if len(raw) < expected:
            raise damaged(f"a strip or tile holds {len(raw):,} of {expected:,} bytes")
        shape = (rows, self.segment_width, self._inside)
        stored = self.dtype.newbyteorder(self.directory.order)
        if self.bits == 8 * self.dtype.itemsize:
            samples = np.frombuffer(raw, stored, math.prod(shape)).reshape(shape)
        else:
            imagecodecs = need("image", "imagecodecs")

            run = self.segment_width * self._inside
            samples = imagecodecs.packints_decode(raw[:expected], self.dtype, self.bits, runlen=run).reshape(shape)
        if self.predictor == 3:
            imagecodecs = need("image", "imagecodecs")

            return imagecodecs.floatpred_decode(np.ascontiguousarray(samples), axis=-2)
        samples = samples.astype(self.dtype, copy=False)
        if self.predictor == 2:
            # Differences along a row, in the arithmetic of unsigned numbers.
            whole = np.dtype(f"u{self.dtype.itemsize}")
            sums = np.add.accumulate(samples.view(whole), axis=1, dtype=whole)
            if self.bits < 8 * whole.itemsize:
                sums &= whole.type((1 << self.bits) - 1)
            samples = sums.view(self.dtype)
        return samples

    def _jpeg(self, data: bytes, rows: int) -> np.ndarray:
        imagecodecs = need("image", "imagecodecs")

        found = survey(io.BytesIO(data))
        if found.width > self.segment_width or found.height > max(rows, self.segment_height):
            raise damaged(
                f"a strip or tile of {self.segment_width}x{rows} pixels holds a JPEG of {found.width}x{found.height}"
            )
        found.check(self.segment_width * self.segment_height)
        if b"\xff\xd9" not in data[-16:]:
            raise damaged("a JPEG in it has no end")
        tables = self.directory.raw(347) if 347 in self.directory.tags else None
        if tables is not None and has_picture(tables):
            raise damaged("its JPEG tables hold a picture")
        stored = shown = None
        if self.planar:
            shown = 1
        elif 338 not in self.directory.tags and self.photometric in (2, 5, YCBCR):
            shown = 4 if self.photometric == 5 else 2
            stored = 2 if self.photometric == 2 and b"JFIF" not in data[:32] else None
        pixels = imagecodecs.jpeg8_decode(data, tables=tables, colorspace=stored, outcolorspace=shown)
        pixels = pixels.reshape(*pixels.shape[:2], -1)
        if pixels.shape[2] != self._inside:
            raise damaged(f"a JPEG in it has {pixels.shape[2]} channels, and its header announces {self._inside}")
        if self.bits != 8 or pixels.dtype != np.uint8:
            raise damaged(f"a JPEG in it has {pixels.dtype.name} samples, and its header announces {self.bits} bits")
        return pixels


# The byte with its bits in the other order, for every byte.
_REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)


def _type(directory: Directory, channels: int) -> tuple[int, np.dtype]:
    """Bits of a sample, and the type that holds them."""
    each, formats = directory.numbers(258, (1,)), directory.numbers(339, (1,))
    if len(set(each[:channels])) > 1 or len(set(formats[:channels])) > 1:
        raise SignalError(f"the channels of a TIFF must have the same number of bits, got {each[:channels]}")
    bits, kind = each[0], SAMPLE_FORMATS.get(formats[0])
    sizes = (16, 32, 64) if kind == "f" else (8, 16, 32, 64)
    if kind is None or not 1 <= bits <= 64 or (bits not in sizes and (kind != "u" or bits > 16)):
        raise SignalError(f"a TIFF must have samples of 1 to 16 bits or floats, got {bits} bits of format {formats[0]}")
    held = next(size for size in sizes if size >= bits)
    return bits, np.dtype(f"{kind}{held // 8}")


def _places(directory: Directory, tiled: bool, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Offset and length of every strip or tile, (count,) each, all within the file."""
    offset_tag, length_tag = (324, 325) if tiled else (273, 279)
    offsets, lengths = directory.places(offset_tag, count), directory.places(length_tag, count)
    missing = (offsets + lengths > directory.size) | ((lengths == 0) & (offsets != 0))
    if missing.any():
        raise damaged(f"{int(missing.sum()):,} of {count:,} strips or tiles lie behind the end of the file")
    return offsets, lengths
