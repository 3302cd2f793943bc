"""TIFF files as `Image`: 1 to 16 bits and floats, strips or tiles, in the usual compressions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from staf.kinds.image.colour import cmyk_to_rgb, fitting_profile
from staf.kinds.image.conversion import ORIENTATION_TAG, upright
from staf.kinds.image.signal import Image
from staf.kinds.image.tiff_directory import MOST_PAGES, Directory, read_directory
from staf.kinds.image.tiff_segments import CODINGS, JPEG, YCBCR, Samples
from staf.signals.errors import SignalError, damaged

WHITE_IS_ZERO, RGB, PALETTE, INKS = 0, 2, 3, 5
READABLE = (WHITE_IS_ZERO, 1, RGB, PALETTE, INKS, YCBCR)
NAMES = {4: "a mask", 8: "CIELAB", 9: "ICCLAB", 10: "ITULAB", 32803: "the mosaic of a camera", 34892: "camera raw"}
LARGEST_PROFILE = 1 << 24


def read_tiff(path: Path, max_pixels: int) -> Image:
    """The first page of a TIFF."""
    with path.open("rb") as file:
        directory = read_directory(file)
        samples = Samples.of(directory, max_pixels)
        photometric = samples.photometric
        if photometric not in READABLE:
            name = NAMES.get(photometric, f"number {photometric}")
            raise SignalError(f"a TIFF must be grey, RGB, palette, CMYK or YCbCr, got {name}")
        if photometric == YCBCR and samples.coding is not CODINGS[JPEG]:
            raise SignalError(f"a TIFF in YCbCr must be compressed as JPEG, got {samples.coding.name}")
        pixels = samples.read()
        orientation = directory.number(ORIENTATION_TAG, 1)
        profile = read_profile(directory)
        colours = directory.colours() if photometric == PALETTE else None
        premultiplied = 1 in directory.numbers(338, (0,))
    notes = notes_of(samples)
    if colours is not None:
        pixels, said = _expanded(pixels, colours)
    else:
        pixels, said = _full_range(pixels, samples.bits)
    notes += said
    if photometric == WHITE_IS_ZERO and pixels.dtype.kind == "u":
        pixels = np.iinfo(pixels.dtype).max - pixels
        notes.append("stored with white as zero, and inverted")
    if premultiplied:
        notes.append("alpha is stored premultiplied and kept so")
    if photometric == INKS:
        pixels, said = _light(pixels, profile)
        notes, profile = notes + said, None
    pixels, turned = upright(pixels, orientation)
    kept, told = fitting_profile(profile, pixels.shape[2])
    return Image(pixels, profile=kept, notes=[*notes, *turned, *told])


def notes_of(samples: Samples) -> list[str]:
    """What to tell the user about a file, beside its pixels."""
    pages, notes = samples.directory.pages, []
    if pages > 1:
        notes.append(f"the first of {pages}{' or more' if pages == MOST_PAGES else ''} pages is used")
    if samples.left_out:
        notes.append(f"{samples.left_out} of {len(samples.offsets)} strips or tiles are not in the file, and are zero")
    return notes


def read_profile(directory: Directory) -> bytes | None:
    _, count, _ = directory.tags.get(34675, (0, 0, 0))
    if count > LARGEST_PROFILE:
        raise damaged(f"its colour profile has {count:,} bytes")
    return directory.raw(34675) if count else None


def _expanded(index: np.ndarray, colours: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Indices (h, w, 1) into colours of 16 bits (n, 3) as RGB, in 8 bits where the colours hold no more."""
    if index.shape[2] != 1 or index.dtype.kind != "u" or index.max() >= len(colours):
        raise damaged(f"its pixels name other colours than the {len(colours)} of its palette")
    for step in (257, 256):
        if not (colours % step).any():
            colours = (colours // step).astype(np.uint8)
            break
    return colours[index[..., 0]], ["palette colours are expanded to RGB"]


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

    if inks.shape[2] != 4 or inks.dtype not in (np.uint8, np.uint16):
        raise SignalError(f"a TIFF of inks must be CMYK of 8 or 16 bits, got {inks.shape[2]} inks of {inks.dtype.name}")
    notes = []
    if inks.dtype == np.uint16:
        inks = ((inks.astype(np.uint32) + 128) // 257).astype(np.uint8)
        notes.append("16-bit CMYK is converted in 8 bits")
    picture = PIL.Image.frombytes("CMYK", inks.shape[1::-1], np.ascontiguousarray(inks).tobytes())
    if profile:
        picture.info["icc_profile"] = profile
    pixels, said = cmyk_to_rgb(picture)
    return pixels, notes + said
