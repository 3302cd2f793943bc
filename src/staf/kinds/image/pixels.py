"""Which arrays are images, and what their numbers mean."""

from __future__ import annotations

import numpy as np

from staf.kinds.plain_arrays import plain_array
from staf.signals.errors import SignalError

CHANNELS = {1: "grey", 2: "grey+alpha", 3: "RGB", 4: "RGBA"}
BAND = 1 << 22
DTYPES = ("uint8", "uint16", "float32")


def is_image_shape(shape: tuple[int, ...]) -> bool:
    """Whether arrays of a shape are images by default: (h, w), or (h, w, c) with 1 to 4 channels.

    >>> is_image_shape((4, 5)), is_image_shape((4, 5, 3)), is_image_shape((4, 5, 6)), is_image_shape((4,))
    (True, True, False, False)
    """
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (0, *CHANNELS))


def is_image(shape: tuple[int, ...], dtype: str) -> bool:
    """Whether arrays of a shape and type are images by default.

    Elevations and labels have integers that no picture has: they are grids.

    >>> is_image((4, 5), "uint8"), is_image((4, 5), "int16")
    (True, False)
    """
    return is_image_shape(shape) and (dtype in DTYPES or not dtype.startswith(("int", "uint")))


def checked_pixels(array: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The array as C-contiguous (h, w, c) of a kept type, with a sentence for every change of its numbers."""
    if not isinstance(array, np.ndarray):
        raise SignalError(f"array must be a numpy array, got {type(array).__name__}; staf.open takes the other kinds")
    array = plain_array(array, "an image")
    pixels = array[..., None] if array.ndim == 2 else array
    if pixels.ndim != 3:
        raise SignalError(f"an image array must have shape (h, w) or (h, w, c), got {array.shape}")
    if 0 in pixels.shape:
        raise SignalError(f"an image must have at least one pixel, got shape {array.shape}")
    if pixels.shape[2] not in CHANNELS:
        hint = "; channels come last: array.transpose(1, 2, 0)" if pixels.shape[0] in CHANNELS else ""
        raise SignalError(f"an image must have 1 to 4 channels, got {pixels.shape[2]} in shape {array.shape}{hint}")
    said = []
    if pixels.dtype == np.bool_:
        # By their bytes: those of a file may be other than 0 and 1.
        pixels = (pixels.view(np.uint8) != 0).view(np.uint8) * np.uint8(255)
        said.append("two-level pixels are kept as 0 and 255 in 8 bits")
    elif pixels.dtype.kind == "f":
        if not _all_finite(pixels):
            raise SignalError("an image must hold numbers only, got NaN or Inf")
        if pixels.dtype.itemsize != 4:
            said.append(f"{pixels.dtype.name} pixels are converted to float32")
        with np.errstate(over="ignore"):
            pixels = pixels.astype(np.float32, copy=False)
        if not _all_finite(pixels):
            raise SignalError("an image must fit in float32, got values beyond 3.4e38")
    elif pixels.dtype.name not in DTYPES:
        instead = ", or open its array with kind='grid'" if pixels.dtype.kind in "iu" else ""
        raise SignalError(
            f"an image must be uint8, uint16, float or bool, got {pixels.dtype.name}: convert it first{instead}"
        )
    native = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native), said


def _all_finite(pixels: np.ndarray) -> bool:
    """Whether all are numbers, found in bands: the answers for a whole array take a quarter of its memory."""
    rows = max(1, BAND // max(1, pixels[0].size))
    return all(np.isfinite(pixels[top : top + rows]).all() for top in range(0, len(pixels), rows))


def value_range_of(pixels: np.ndarray) -> tuple[float, float]:
    """The interval that values live in: [0, 1] for integers, the smallest that holds [0, 1] and the data for floats."""
    if pixels.dtype.kind != "f":
        return (0.0, 1.0)
    return (min(0.0, float(pixels.min())), max(1.0, float(pixels.max())))


def in_eight_bits(pixels: np.ndarray, value_range: tuple[float, float]) -> np.ndarray:
    """Pixels for showing: 16 bits are rounded to 8, floats stretched from `value_range`.

    >>> in_eight_bits(np.array([0, 65535], np.uint16), (0.0, 1.0)).tolist()
    [0, 255]
    """
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype == np.uint16:
        return ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8)
    low, high = value_range
    levels = (np.clip(pixels, low, high) - np.float32(low)) * np.float32(255 / (high - low))
    return levels.round().astype(np.uint8)
