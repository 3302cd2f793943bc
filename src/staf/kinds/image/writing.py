"""Images into files, whole or not at all: PNG, JPEG, TIFF, WebP, NPY by suffix."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from staf._extras import need
from staf.kinds.image.png_writer import LARGEST_SIDE, write_png
from staf.signals import npy
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.image.signal import Image

FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WebP",
    ".npy": "NPY",
}
STREAMED = ("PNG", "TIFF", "NPY")
LARGEST = {"JPEG": 65500, "WebP": 16383, "PNG": LARGEST_SIDE}
BAND_BYTES = 1 << 22


def write_image(image: Image, path: str | os.PathLike[str]) -> Path:
    """Writes `image` to `path` in the format of its suffix; `Image.save` says what each format keeps."""
    format = format_of(path)
    check_format(image, format, image.shape)
    if format in STREAMED:
        pixels = image.array
        rows = max(1, BAND_BYTES // max(1, pixels[0].nbytes))
        bands = (pixels[top : top + rows] for top in range(0, len(pixels), rows))
        return write_bands(image, bands, image.shape, path)
    with atomic_path(path) as temporary:
        if format == "JPEG":
            image.to_pil().save(temporary, "JPEG", quality=95, subsampling=0, icc_profile=image.profile)
        else:
            picture = image.to_pil()
            mode = "RGBA" if image.out_features in (2, 4) else "RGB"
            picture.convert(mode).save(temporary, "WEBP", lossless=True, exact=True, icc_profile=image.profile or b"")
    return Path(path)


def write_bands(
    image: Image, bands: Iterable[np.ndarray], shape: tuple[int, int], path: str | os.PathLike[str]
) -> Path:
    """Streams bands (k, w, c) of `image`'s own type, which make up `shape` (h, w), into a PNG, TIFF or NPY file.

    The memory needed is that of a few bands, whatever the size of the whole. `image` gives the type and profile.
    """
    format = format_of(path)
    check_format(image, format, shape)
    if format not in STREAMED:
        raise SignalError(f"only PNG, TIFF and NPY are written in bands, got {str(path)!r}")
    full = (*shape, image.out_features)
    with atomic_path(path) as temporary:
        if format == "PNG":
            sixteen = image.dtype.kind == "f"
            dtype = np.dtype(np.uint16) if sixteen else image.dtype
            levels = (np.rint(band * np.float32(65535)).astype(np.uint16) for band in bands) if sixteen else bands
            with temporary.open("xb") as file:
                write_png(file, levels, full, dtype, profile=image.profile)
        elif format == "TIFF":
            _write_tiff(temporary, bands, full, image.dtype, image.profile)
        else:
            # A grey image has no axis for its one channel.
            npy.write_bands(temporary, bands, full if full[2] > 1 else full[:2], image.dtype)
    return Path(path)


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a suffix names.

    >>> format_of("a photo.JPG")
    'JPEG'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise SignalError(f"an image is saved as {', '.join(FORMATS)}; got {str(path)!r}")
    return FORMATS[suffix]


def check_format(image: Image, format: str, shape: tuple[int, int]) -> None:
    """Refuses what `format` cannot hold, before anything is computed or written."""
    if format == "JPEG" and image.out_features in (2, 4):
        raise SignalError(f"JPEG holds no alpha, and image {image.name!r} has it: save it as PNG, TIFF or WebP")
    if max(shape) > LARGEST.get(format, max(shape)):
        raise SignalError(f"{format} holds at most {LARGEST[format]} pixels a side, got {shape[1]}x{shape[0]}")
    if format in ("PNG", "JPEG", "WebP") and image.value_range != (0.0, 1.0):
        low, high = image.value_range
        raise SignalError(f"{format} holds values in [0, 1], and image {image.name!r} has [{low:g}, {high:g}]: "
                          "save it as TIFF or NPY")  # fmt: skip


def _write_tiff(
    path: Path, bands: Iterable[np.ndarray], shape: tuple[int, int, int], dtype: np.dtype, profile: bytes | None
) -> None:
    tifffile = need("image", "tifffile")

    height, width, channels = shape
    row_bytes = width * channels * dtype.itemsize
    rows = min(height, max(1, (1 << 18) // row_bytes))
    with tifffile.TiffWriter(path, bigtiff=height * row_bytes > 3 << 30, byteorder="<") as writer:
        writer.write(
            _deflated(_regrouped(bands, rows), dtype),
            shape=shape if channels > 1 else shape[:2],
            dtype=dtype.newbyteorder("<"),
            photometric="rgb" if channels > 2 else "minisblack",
            planarconfig="contig" if channels > 1 else None,
            extrasamples=("unassalpha",) if channels in (2, 4) else None,
            rowsperstrip=rows,
            compression="zlib",
            predictor=dtype.kind == "u",
            iccprofile=profile,
            metadata=None,
            software=False,
        )


def _deflated(strips: Iterable[np.ndarray], dtype: np.dtype) -> Iterator[bytes]:
    """Each strip as TIFF stores it: integers as differences along the row, deflated."""
    for strip in strips:
        if dtype.kind == "u":
            strip = np.concatenate([strip[:, :1], np.diff(strip, axis=1)], axis=1)
        yield zlib.compress(strip.astype(dtype.newbyteorder("<"), copy=False).tobytes(), 6)


def _regrouped(bands: Iterable[np.ndarray], rows: int) -> Iterator[np.ndarray]:
    """The same rows in groups of exactly `rows`, the last one shorter."""
    held: list[np.ndarray] = []
    count = 0
    for band in bands:
        start = 0
        while start < len(band):
            part = band[start : start + rows - count]
            held.append(part)
            start, count = start + len(part), count + len(part)
            if count == rows:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, count = [], 0
    if held:
        yield np.concatenate(held)
