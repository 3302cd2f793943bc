"""Photos from files, all of one size, as bytes; each is made smaller as soon as it is read."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from staf.kinds.formats import recognise
from staf.kinds.scene.intrinsics import Frame
from staf.signals.errors import SignalError

# Formats of photos, and the classes of Pillow that find the size of one in its header.
FORMATS = {
    "PNG": "PngImagePlugin:PngImageFile",
    "JPEG": "JpegImagePlugin:JpegImageFile",
    "TIFF": "TiffImagePlugin:TiffImageFile",
    "WebP": "WebPImagePlugin:WebPImageFile",
}

OPAQUE = 255


def check_pixels(frames: Sequence[Frame], folder: Path, *, downscale: int, most: int) -> None:
    """Refuse photos whose headers announce more pixels than `most` together, as they are kept."""
    total = 0
    for frame in frames:
        width, height = _announced(frame, folder)
        total += (width // downscale) * (height // downscale)
    _refuse_more(total, downscale, most)


def load_photos(
    frames: Sequence[Frame], folder: Path, *, downscale: int, most: int
) -> tuple[np.ndarray, tuple[int, int]]:
    """Photos (v, h, w, 3 or 4) as uint8, `downscale` times smaller, and height and width of each before.

    Each has at most `most` pixels as it is read. They have 4 channels where any is transparent anywhere.
    """
    first: np.ndarray | None = None
    pixels = np.empty(0, np.uint8)
    for number, frame in enumerate(frames):
        picture = _photo(frame, folder, most)
        if first is None:
            first = picture
        if picture.shape != first.shape:
            raise SignalError(
                f"photos of a scene must have the same size and channels: {frames[0].where}, "
                f"{_name(frames[0], folder)}, is {_shape(first)}, and {frame.where}, {_name(frame, folder)}, is "
                f"{_shape(picture)}: leave out the ones that differ, or make them like the others"
            )
        small = smaller(picture, downscale)
        if not number:
            # Once more, because not every header could be read.
            _refuse_more(len(frames) * small.shape[0] * small.shape[1], downscale, most)
            pixels = np.empty((len(frames), *small.shape), np.uint8)
        pixels[number] = small
    assert first is not None
    if pixels.shape[-1] == 4 and (pixels[..., 3] == OPAQUE).all():
        pixels = np.ascontiguousarray(pixels[..., :3])
    return pixels, (first.shape[0], first.shape[1])


def smaller(picture: np.ndarray, factor: int) -> np.ndarray:
    """Area means of factor x factor pixels (h, w, 3 or 4) of bytes; colour counts as much as it covers.

    >>> smaller(np.full((5, 4, 3), 7, np.uint8), 2).shape
    (2, 2, 3)
    """
    if factor == 1:
        return picture
    height, width = picture.shape[0] // factor, picture.shape[1] // factor
    if height < 1 or width < 1:
        raise SignalError(f"downscale {factor} leaves no pixel of a photo of {_shape(picture)}")
    blocks = picture[: height * factor, : width * factor].reshape(height, factor, width, factor, -1).astype(np.float32)
    if picture.shape[2] == 3:
        return np.rint(blocks.mean((1, 3))).astype(np.uint8)
    cover = blocks[..., 3:]
    total = cover.sum((1, 3))
    colour = (blocks[..., :3] * cover).sum((1, 3)) / np.maximum(total, 1e-6)
    return np.rint(np.concatenate([colour, total / factor**2], -1)).astype(np.uint8)


def _refuse_more(total: int, downscale: int, most: int) -> None:
    if total > most:
        reduced = "" if downscale == 1 else f" after downscale {downscale}"
        raise SignalError(
            f"the photos have {total:,} pixels together{reduced}, more than max_pixels={most:,}: make them smaller "
            "(staf fit: --downscale), or pass a larger max_pixels (--max-pixels)"
        )


def _announced(frame: Frame, folder: Path) -> tuple[int, int]:
    """Width and height in the header of a photo."""
    with frame.path.open("rb") as file:
        if not file.read(1):
            raise SignalError(f"{frame.where}: the photo {_name(frame, folder)} is empty")
        format = recognise(file, frame.path.suffix)
        if format is None or format.name not in FORMATS:
            found = "of no known format" if format is None else f"{format.name} ({format.kind})"
            raise SignalError(
                f"{frame.where}: {_name(frame, folder)} is no photo: photos are {', '.join(FORMATS)}, and it is {found}"
            )
        module, _, plugin = FORMATS[format.name].partition(":")
        file.seek(0)
        try:
            with getattr(importlib.import_module(f"PIL.{module}"), plugin)(file) as picture:
                return picture.size
        except Exception:
            # A damaged header, of which decoding says more than Pillow.
            return 0, 0


def _photo(frame: Frame, folder: Path, most: int) -> np.ndarray:
    """One photo (h, w, 3 or 4) as uint8."""
    from staf.kinds.opening import open as open_signal

    try:
        photo = open_signal(frame.path, kind="image", max_pixels=most)
    except SignalError as error:
        reason = str(error).removeprefix(f"cannot open {str(frame.path)!r}: ")
        raise SignalError(f"{frame.where}: cannot read the photo {_name(frame, folder)}: {reason}") from error
    return _eight_bits(photo.array)


def _eight_bits(array: np.ndarray) -> np.ndarray:
    """Pixels (h, w, 3 or 4) as uint8; grey becomes colour."""
    if array.dtype == np.uint16:
        array = ((array.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
    elif array.dtype.kind == "f":
        array = np.rint(np.clip(array, 0, 1) * 255).astype(np.uint8)
    channels = array.shape[2]
    if channels < 3:
        colour = np.repeat(array[..., :1], 3, axis=2)
        return colour if channels == 1 else np.concatenate([colour, array[..., 1:]], axis=2)
    return array


def _name(frame: Frame, folder: Path) -> str:
    return repr(frame.path.relative_to(folder.resolve()).as_posix())


def _shape(picture: np.ndarray) -> str:
    return f"{picture.shape[1]}x{picture.shape[0]} with {picture.shape[2]} channels"
