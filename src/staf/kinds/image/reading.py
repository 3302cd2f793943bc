"""The readers of PNG, JPEG, WebP, GIF and NPY files; each checks the header before anything is decoded."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from staf.kinds.formats import HEAD_BYTES
from staf.kinds.gif_blocks import check_extents
from staf.kinds.image.jpeg_reading import read_jpeg
from staf.kinds.image.pillow_reading import read_with_pillow
from staf.kinds.image.pixels import is_image, is_image_shape
from staf.kinds.image.png_reading import read_png
from staf.kinds.image.signal import Image
from staf.kinds.limits import check_not_padded, check_ratio, check_size
from staf.signals.errors import SignalError, damaged
from staf.signals.npy import announced, check_whole

__all__ = ["announces_image", "read_gif", "read_jpeg", "read_npy", "read_png", "read_webp"]

# A plain area takes next to nothing in a WebP: a picture of 64 MiB and more holds something else too.
WEBP_RATIO = 1 << 16
# A code of a GIF has at most 12 bits and stands for at most 4,096 pixels, of 4 bytes after decoding.
GIF_RATIO = 4 * 4096


def read_webp(path: Path, max_pixels: int) -> Image:
    """A WebP, lossy or lossless; the first frame of an animation."""
    from PIL.WebPImagePlugin import WebPImageFile

    with path.open("rb") as file:
        head, stored = file.read(30), os.fstat(file.fileno()).st_size
    announced = 8 + int.from_bytes(head[4:8], "little")
    if announced > stored:
        raise damaged(f"its header announces {announced:,} bytes, and {stored:,} are there")
    size = _webp_size(head)
    if size is not None:
        check_size(*size, max_pixels)
        decoded = 4 * size[0] * size[1]
        check_ratio(decoded, stored, WEBP_RATIO, f"{size[0]}x{size[1]} pixels")
        check_not_padded(stored, decoded)
    return read_with_pillow(path, WebPImageFile, max_pixels)


def read_gif(path: Path, max_pixels: int) -> Image:
    """A GIF; the first frame of an animation."""
    from PIL.GifImagePlugin import GifImageFile

    with path.open("rb") as file:
        check_extents(file)
        file.seek(0)
        with GifImageFile(file) as picture:
            width, height = picture.size
        check_ratio(4 * width * height, path.stat().st_size, GIF_RATIO, f"{width}x{height} pixels")
    return read_with_pillow(path, GifImageFile, max_pixels)


def announces_image(file: BinaryIO) -> bool:
    """Whether an NPY file announces an image by its shape and type; a damaged file is reported as an image."""
    header = announced(file.read(HEAD_BYTES))
    return header is None or is_image(header.shape, header.dtype.name)


def read_npy(path: Path, max_pixels: int) -> Image:
    """An array (h, w) or (h, w, c) saved by numpy; pickled objects are refused."""
    shape, dtype = check_whole(path)
    if not is_image_shape(shape):
        raise SignalError(f"an image array must have shape (h, w) or (h, w, c) with c up to 4, got {shape}")
    if 0 not in shape:
        check_size(shape[1], shape[0], max_pixels)
    if dtype.kind not in "buif":
        raise SignalError(f"an image must be uint8, uint16, float or bool, got {dtype.name}: convert it first")
    return Image(np.load(path, allow_pickle=False))


def _webp_size(head: bytes) -> tuple[int, int] | None:
    """Width and height from a WebP's first 30 bytes, for its three kinds of first chunk."""
    if len(head) < 30:
        return None
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head[12:16] == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
