"""TIFF files as `Image`: 1 to 16 bits and floats, strips or tiles, any compression that imagecodecs knows."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from staf._extras import need
from staf.kinds.image.colour import cmyk_to_rgb, fitting_profile
from staf.kinds.image.conversion import ORIENTATION_TAG, upright
from staf.kinds.image.reading import check_size
from staf.kinds.image.signal import Image
from staf.signals.errors import SignalError, damage_named

READABLE = ("MINISBLACK", "MINISWHITE", "RGB", "PALETTE", "SEPARATED", "YCBCR")


def read_tiff(path: Path, max_pixels: int) -> Image:
    """The first page of a TIFF."""
    tifffile = need("image", "tifffile")

    with damage_named("TIFF"), quiet("tifffile"), tifffile.TiffFile(path) as file:
        page: Any = file.pages[0]
        check_size(page.imagewidth, page.imagelength, max_pixels)
        photometric = getattr(page.photometric, "name", str(page.photometric))
        if photometric not in READABLE or page.imagedepth > 1:
            raise SignalError(f"a TIFF must be grey, RGB, palette, CMYK or YCbCr, got {photometric}")
        if page.samplesperpixel > 4:
            raise SignalError(f"an image must have 1 to 4 channels, got {page.samplesperpixel}")
        notes = [f"the first of {len(file.pages)} pages is used"] if len(file.pages) > 1 else []
        pixels = page.asarray(maxworkers=1)
        orientation = page.tags.valueof(ORIENTATION_TAG, 1)
        profile = page.iccprofile
        colormap, bits = page.colormap, page.bitspersample
        planar = page.samplesperpixel > 1 and getattr(page.planarconfig, "name", "") == "SEPARATE"
        premultiplied = 1 in page.extrasamples
    if planar:
        pixels = pixels.transpose(1, 2, 0)
    if photometric == "PALETTE":
        pixels, said = _expanded(pixels, colormap)
    else:
        pixels, said = _full_range(pixels, bits)
    notes += said
    if photometric == "MINISWHITE" and pixels.dtype.kind == "u":
        pixels = np.iinfo(pixels.dtype).max - pixels
        notes.append("stored with white as zero, and inverted")
    if premultiplied:
        notes.append("alpha is stored premultiplied and kept so")
    if photometric == "SEPARATED":
        pixels, said = _light(pixels, profile)
        notes, profile = notes + said, None
    pixels, turned = upright(pixels, orientation)
    kept, told = fitting_profile(profile, 1 if pixels.ndim == 2 else pixels.shape[2])
    return Image(pixels, profile=kept, notes=[*notes, *turned, *told])


def _expanded(index: np.ndarray, colormap: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Indices (h, w) into a 16-bit map (3, n) as RGB, in 8 bits where the map holds no more."""
    colours = np.moveaxis(colormap[:, index], 0, -1)
    if (colormap % 257 == 0).all():
        colours = (colours // 257).astype(np.uint8)
    elif (colormap % 256 == 0).all():
        colours = (colours // 256).astype(np.uint8)
    return colours, ["palette colours are expanded to RGB"]


def _full_range(pixels: np.ndarray, bits: int) -> tuple[np.ndarray, list[str]]:
    """Samples of odd depths (2, 4, 10, 12, 14 bits) stretched to the 8 or 16 bits that hold them."""
    held = 8 * pixels.dtype.itemsize
    if pixels.dtype.kind != "u" or not 1 <= bits < held or held > 16:
        return pixels, []
    top, full = (1 << bits) - 1, (1 << held) - 1
    stretched = (pixels.astype(np.uint32) * full + top // 2) // top
    return stretched.astype(pixels.dtype), [f"{bits}-bit samples are stretched to {held} bits"]


def _light(inks: np.ndarray, profile: bytes | None) -> tuple[np.ndarray, list[str]]:
    import PIL.Image

    if inks.ndim != 3 or inks.shape[2] != 4:
        raise SignalError(f"a TIFF of inks must be CMYK, got {1 if inks.ndim == 2 else inks.shape[2]} inks")
    notes = []
    if inks.dtype == np.uint16:
        inks = ((inks.astype(np.uint32) + 128) // 257).astype(np.uint8)
        notes.append("16-bit CMYK is converted in 8 bits")
    picture = PIL.Image.frombytes("CMYK", inks.shape[1::-1], np.ascontiguousarray(inks).tobytes())
    if profile:
        picture.info["icc_profile"] = profile
    pixels, said = cmyk_to_rgb(picture)
    return pixels, notes + said


@contextmanager
def quiet(name: str) -> Iterator[None]:
    """Holds back a library's own log lines about a bad file: the error that follows says it once."""

    def drop(record: logging.LogRecord) -> bool:
        return False

    logger = logging.getLogger(name)
    logger.addFilter(drop)
    try:
        yield
    finally:
        logger.removeFilter(drop)
