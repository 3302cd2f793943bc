"""Target, reconstruction and error as pictures small enough to embed, with their scale said."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from staf.reports.colours import ERROR_COLOURS

# Three pictures of this side, and three crops with three pictures each, stay under 5 MB as PNG even for noise.
LARGEST_SIDE = 512
CROP_SIDE = 256
LARGEST_PROFILE = 16_384
BAND_PIXELS = 2**20
QUANTILE_PIXELS = 2**22


@dataclass(frozen=True)
class View:
    """One place to look at: three pictures of one size as data URIs, and what they show."""

    title: str
    detail: str
    width: int
    height: int
    target: str
    reconstruction: str
    error: str


@dataclass(frozen=True)
class Pictures:
    """All views of an image, the whole first, and the error that the map's brightest colour stands for."""

    views: list[View]
    ceiling: float
    largest: float


def pictures(target: Any, reconstruction: Any) -> Pictures:
    """The whole image, reduced by a whole factor where it is large, and then 1:1 crops where that loses something.

    The error of a pixel is the root of the mean square over its channels, in units of the value range. The map is
    linear from zero to the 99.9th percentile, rounded up to one digit, so that one bad pixel does not darken the rest.

    >>> from staf.kinds import Image
    >>> image = Image(np.zeros((600, 1200), np.uint8))
    >>> [(view.title, view.width, view.height) for view in pictures(image, image).views]
    [('Whole image', 400, 200), ('Largest error', 256, 256), ('Finest detail', 256, 256), ('Centre', 256, 256)]
    """
    height, width = target.shape
    factor = math.ceil(max(height, width) / LARGEST_SIDE)
    squares = _error_squares(target, reconstruction)
    largest = float(np.sqrt(squares.max()))
    # A percentile of a few million pixels is as good as that of all, and needs no sorted copy of a huge image.
    some = squares.ravel()[:: max(1, squares.size // QUANTILE_PIXELS)]
    ceiling = nice_ceiling(float(np.sqrt(np.quantile(some, 0.999))))
    small = _reduce(squares[..., None], factor)[..., 0]
    views = [
        _view(
            "Whole image",
            "1:1, every pixel shown" if factor == 1 else f"1:{factor}, each pixel the mean of {factor}x{factor}",
            _reduced_pixels(target, factor),
            _reduced_pixels(reconstruction, factor),
            small,
            ceiling,
            target.profile,
        )
    ]
    if factor > 1:
        for title, top, left in _places(target, squares):
            rows, columns = slice(top, top + CROP_SIDE), slice(left, left + CROP_SIDE)
            views.append(
                _view(
                    title,
                    f"1:1, from column {left} and row {top}",
                    _pixels(target, rows, columns),
                    _pixels(reconstruction, rows, columns),
                    squares[rows, columns],
                    ceiling,
                    target.profile,
                )
            )
    return Pictures(views, ceiling, largest)


def nice_ceiling(value: float) -> float:
    """The smallest 1, 1.5, 2, 3, 5 or 7 times a power of ten that is not below `value`; at least one 16-bit level.

    >>> nice_ceiling(0.034), nice_ceiling(0.0)
    (0.05, 2e-05)
    """
    value = max(value, 1 / 65535)
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(m for m in (1, 1.5, 2, 3, 5, 7, 10) if m * power >= value * (1 - 1e-6)) * power:.1e}")


def _error_squares(target: Any, reconstruction: Any) -> np.ndarray:
    """Mean square over the channels, (h, w), in units of the value range squared; by bands, to bound memory."""
    height, width = target.shape
    squares = np.empty((height, width), np.float32)
    peak = np.float32(np.iinfo(target.dtype).max if target.dtype.kind == "u" else target.data_range)
    rows = max(1, BAND_PIXELS // width)
    for top in range(0, height, rows):
        band = slice(top, top + rows)
        difference = (reconstruction.array[band].astype(np.float32) - target.array[band].astype(np.float32)) / peak
        squares[band] = np.square(difference).mean(-1)
    return squares


def _reduce(array: np.ndarray, factor: int) -> np.ndarray:
    """Means over factor x factor blocks of (h, w, c); those at the far edges may be smaller."""
    if factor == 1:
        return array.astype(np.float32)
    height, width = array.shape[:2]
    tops, lefts = np.arange(0, height, factor), np.arange(0, width, factor)
    across = np.add.reduceat(array, lefts, axis=1, dtype=np.float64)
    sums = np.add.reduceat(across, tops, axis=0)
    counts = np.diff(np.append(tops, height))[:, None, None] * np.diff(np.append(lefts, width))[None, :, None]
    return (sums / counts).astype(np.float32)


def _reduced_pixels(image: Any, factor: int) -> np.ndarray:
    if factor == 1:
        return image.as_uint8()
    rows = factor * max(1, BAND_PIXELS // (factor * image.width))
    bands = [
        _reduce(_pixels(image, slice(top, top + rows), slice(None)), factor) for top in range(0, image.height, rows)
    ]
    return np.concatenate(bands).round().astype(np.uint8)


def _pixels(image: Any, rows: slice, columns: slice) -> np.ndarray:
    part = image.with_pixels(np.ascontiguousarray(image.array[rows, columns]))
    return part.as_uint8()


def _places(target: Any, squares: np.ndarray) -> list[tuple[str, int, int]]:
    """Corners (title, top, left) of the crops worth seeing: the largest error, the finest detail, the centre."""
    height, width = squares.shape
    # Beyond this many pixels a side, every `step`-th one says well enough where the detail is.
    step = math.ceil(max(height, width) / 4096)
    grey = target.array[::step, ::step].astype(np.float32).mean(-1)
    detail = np.zeros_like(grey)
    detail[1:] += np.abs(np.diff(grey, axis=0))
    detail[:, 1:] += np.abs(np.diff(grey, axis=1))
    centres = {
        "Largest error": _peak(squares, CROP_SIDE // 4, 1),
        "Finest detail": _peak(detail, max(1, CROP_SIDE // (4 * step)), step),
        "Centre": (height // 2, width // 2),
    }
    return [(title, *_corner(centre, (height, width))) for title, centre in centres.items()]


def _peak(score: np.ndarray, block: int, step: int) -> tuple[int, int]:
    """The middle of the block with the largest mean score, in pixels of the image that `score` samples every `step`."""
    means = _reduce(score[..., None], block)[..., 0]
    row, column = np.unravel_index(int(means.argmax()), means.shape)
    return (int(row) * block + block // 2) * step, (int(column) * block + block // 2) * step


def _corner(centre: tuple[int, int], shape: tuple[int, int]) -> tuple[int, int]:
    top, left = (
        min(max(0, middle - CROP_SIDE // 2), max(0, size - CROP_SIDE))
        for middle, size in zip(centre, shape, strict=True)
    )
    return top, left


def _view(
    title: str,
    detail: str,
    target: np.ndarray,
    reconstruction: np.ndarray,
    squares: np.ndarray,
    ceiling: float,
    profile: bytes | None,
) -> View:
    height, width = target.shape[:2]
    levels = np.minimum(np.sqrt(squares) * (255 / ceiling), 255).round().astype(np.uint8)
    return View(
        title,
        detail,
        width,
        height,
        data_uri(target, profile),
        data_uri(reconstruction, profile),
        palette_uri(levels),
    )


def data_uri(pixels: np.ndarray, profile: bytes | None) -> str:
    """Pixels (h, w, c) of 8 bits as a PNG in a data URI, with a colour profile unless it is large."""
    import PIL.Image

    picture = PIL.Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    return _png(picture, profile if profile is not None and len(profile) <= LARGEST_PROFILE else None)


def palette_uri(levels: np.ndarray) -> str:
    """Levels (h, w) from 0 to 255 on the colour scale of error maps, as a PNG in a data URI."""
    import PIL.Image

    picture = PIL.Image.fromarray(levels)
    picture.putpalette(ERROR_COLOURS.tobytes())
    return _png(picture, None)


def _png(picture: Any, profile: bytes | None) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True, icc_profile=profile)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
