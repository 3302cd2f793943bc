"""The readers of PNG, JPEG, WebP and NPY files; each checks what its header asks for before anything is decoded."""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from staf.kinds.image.jpeg_reading import read_jpeg
from staf.kinds.image.pillow_reading import read_with_pillow
from staf.kinds.image.pixels import CHANNELS
from staf.kinds.image.png_reading import read_png
from staf.kinds.image.signal import Image
from staf.kinds.limits import check_not_padded, check_ratio, check_size, damaged
from staf.signals.errors import SignalError

__all__ = ["read_jpeg", "read_npy", "read_png", "read_webp"]

# A plain area takes next to nothing in a WebP: a picture of 64 MiB and more holds something else too.
WEBP_RATIO = 1 << 16
# numpy reads headers of up to this many bytes, and would read longer ones into memory to find that out.
NPY_HEADER = 10_000


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


def read_npy(path: Path, max_pixels: int) -> Image:
    """An array (h, w) or (h, w, c) saved by numpy; pickled objects are refused."""
    with path.open("rb") as file:
        shape, dtype = _npy_header(file)
        held = os.fstat(file.fileno()).st_size - file.tell()
    if dtype.hasobject:
        raise SignalError("it holds pickled Python objects, which are never loaded; save numbers instead")
    if len(shape) in (2, 3) and 0 not in shape:
        check_size(shape[1], shape[0], max_pixels)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in CHANNELS):
        raise SignalError(f"an image array must have shape (h, w) or (h, w, c) with c up to 4, got {shape}")
    if dtype.kind not in "buif":
        raise SignalError(f"an image must be uint8, uint16, float or bool, got {dtype.name}: convert it first")
    if math.prod(shape) * dtype.itemsize > held:
        raise damaged(f"{held:,} of {math.prod(shape) * dtype.itemsize:,} bytes of its array are there")
    return Image(np.load(path, allow_pickle=False))


def _npy_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of the array in an NPY file."""
    version = np.lib.format.read_magic(file)
    wide = version != (1, 0)
    length = int.from_bytes(file.read(4 if wide else 2), "little")
    if length > NPY_HEADER:
        raise damaged(f"its NPY header has {length:,} bytes, more than {NPY_HEADER:,}")
    file.seek(-4 if wide else -2, 1)
    read = np.lib.format.read_array_header_2_0 if wide else np.lib.format.read_array_header_1_0
    shape, _, dtype = read(file)
    if min(shape, default=0) < 0:
        raise damaged(f"its array has shape {shape}")
    return shape, dtype


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
