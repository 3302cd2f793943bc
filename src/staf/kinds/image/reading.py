"""PNG, JPEG, WebP and NPY files as `Image`, their size checked before anything is decoded."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from staf._extras import need
from staf.kinds.image.colour import fitting_profile
from staf.kinds.image.conversion import ORIENTATION_TAG, image_from_pil, upright
from staf.kinds.image.pixels import is_image_shape
from staf.kinds.image.signal import Image
from staf.signals.errors import SignalError, damage_named
from staf.signals.npy import announced_shape, map_array

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile


def read_png(path: Path, max_pixels: int) -> Image:
    """A PNG of any kind. 16 bits are decoded by libpng itself, since Pillow would read colour as 8."""
    from PIL.PngImagePlugin import PngImageFile

    with path.open("rb") as file:
        head = file.read(26)
    if len(head) < 26 or head[12:16] != b"IHDR":
        raise SignalError("it is damaged or cut short: the PNG header is not whole")
    width, height, depth = struct.unpack(">IIB", head[16:25])
    check_size(width, height, max_pixels)
    if depth < 16:
        return _read_with_pillow(path, PngImageFile, max_pixels)
    imagecodecs = need("image", "imagecodecs")

    with damage_named("PNG"):
        with path.open("rb") as file, PngImageFile(file) as picture:
            profile, orientation = picture.info.get("icc_profile"), picture.getexif().get(ORIENTATION_TAG, 1)
        pixels = imagecodecs.png_decode(path.read_bytes())
    pixels, turned = upright(pixels, orientation)
    kept, said = fitting_profile(profile, 1 if pixels.ndim == 2 else pixels.shape[2])
    return Image(pixels, profile=kept, notes=[*turned, *said])


def read_jpeg(path: Path, max_pixels: int) -> Image:
    """A JPEG: grey, colour or CMYK, 8 bits."""
    from PIL.JpegImagePlugin import JpegImageFile

    return _read_with_pillow(path, JpegImageFile, max_pixels)


def read_webp(path: Path, max_pixels: int) -> Image:
    """A WebP, lossy or lossless; the first frame of an animation."""
    from PIL.WebPImagePlugin import WebPImageFile

    with path.open("rb") as file:
        size = _webp_size(file.read(30))
    if size is not None:
        check_size(*size, max_pixels)
    return _read_with_pillow(path, WebPImageFile, max_pixels)


def announces_image(head: bytes) -> bool:
    """Whether the head of an NPY file announces the shape of an image; one that is damaged is reported as an image."""
    shape = announced_shape(head)
    return shape is None or is_image_shape(shape)


def read_npy(path: Path, max_pixels: int) -> Image:
    """An array (h, w) or (h, w, c) saved by numpy; pickled objects are refused."""
    with damage_named("NPY"):
        array = map_array(path)
    if not is_image_shape(array.shape):
        raise SignalError(f"an image array must have shape (h, w) or (h, w, c) with c up to 4, got {array.shape}")
    if array.size:
        check_size(array.shape[1], array.shape[0], max_pixels)
    return Image(np.array(array))


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Refuses images without pixels and those of more than `max_pixels`."""
    if width < 1 or height < 1:
        raise SignalError(f"an image must have at least one pixel, got {width}x{height}")
    if width * height > max_pixels:
        raise SignalError(
            f"its header announces {width}x{height} pixels, more than max_pixels={max_pixels}; "
            "if you trust the file, pass a larger max_pixels (staf fit: --max-pixels)"
        )


def _read_with_pillow(path: Path, plugin: type[ImageFile], max_pixels: int) -> Image:
    # The plugin's class is called directly: PIL.Image.open would try other formats, and has its own, global limit.
    with damage_named(str(plugin.format)), path.open("rb") as file, plugin(file) as picture:
        width, height = picture.size
        check_size(width, height, max_pixels)
        picture.load()
        return image_from_pil(picture)


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
