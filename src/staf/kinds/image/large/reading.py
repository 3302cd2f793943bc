"""The readers of PNG, JPEG and TIFF: small images whole, large ones as a memory map of what was decoded in bands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from staf.kinds.image import reading, tiff_reading
from staf.kinds.image.large.cache import READERS, mapped_image
from staf.kinds.image.signal import Image

# Images of at least this many pixels are mapped: decoding them again each time would take seconds, and memory.
MAPPED_PIXELS = 2**26


def read_png(path: Path, max_pixels: int) -> Image:
    """A PNG of any kind."""
    return _read(path, max_pixels, "PNG", reading.read_png)


def read_jpeg(path: Path, max_pixels: int) -> Image:
    """A JPEG: grey, colour or CMYK, 8 bits."""
    return _read(path, max_pixels, "JPEG", reading.read_jpeg)


def read_tiff(path: Path, max_pixels: int) -> Image:
    """The first page of a TIFF."""
    return _read(path, max_pixels, "TIFF", tiff_reading.read_tiff)


def _read(path: Path, max_pixels: int, format: str, whole: Callable[[Path, int], Image]) -> Image:
    banded = READERS[format](path, max_pixels)
    if banded is None or banded.shape[0] * banded.shape[1] < MAPPED_PIXELS:
        return whole(path, max_pixels)
    mapped = mapped_image(path, format, max_pixels)
    assert mapped is not None
    return Image(mapped.pixels, profile=mapped.profile, notes=mapped.notes)
