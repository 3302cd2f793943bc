"""Target, reconstruction and error as pictures small enough to embed, with their scale said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from staf.kinds.image.signal import Image
from staf.reports.embedding import error_levels, error_uri, picture_uri, reduced, round_ceiling

# Three pictures of this side, and three crops with three pictures each, stay under 5 MB as PNG even for noise.
LARGEST_SIDE = 512
CROP_SIDE = 256
BAND_PIXELS = 2**20
QUANTILE_PIXELS = 2**22


@dataclass(frozen=True)
class Place:
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
    """All views of an image, the whole first, and the error at the brightest colour of the map."""

    views: list[Place]
    ceiling: float
    largest: float


def pictures(target: Image, reconstruction: Image) -> Pictures:
    """The whole image, reduced by a whole factor where it is large, and crops at full resolution where that loses some.

    The error of a pixel is the root of the mean square over its channels, in units of the value range. The map is
    linear from zero to the 99.9th percentile, rounded up to one digit, so that one bad pixel does not darken the rest.

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
    ceiling = round_ceiling(float(np.sqrt(np.quantile(some, 0.999))))
    small = reduced(squares[..., None], factor)[..., 0]
    views = [
        _place(
            "Whole image",
            "every pixel shown" if factor == 1 else f"each pixel the mean of {factor}x{factor}",
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
                _place(
                    title,
                    f"every pixel shown, from column {left} and row {top}",
                    _pixels(target, rows, columns),
                    _pixels(reconstruction, rows, columns),
                    squares[rows, columns],
                    ceiling,
                    target.profile,
                )
            )
    return Pictures(views, ceiling, largest)


def views_of(places: Sequence[tuple[str, np.ndarray, np.ndarray]], detail: str) -> Pictures:
    """Several pairs of pictures (h, w, 3) of bytes, each with its title, on one scale of errors.

    >>> black = np.zeros((2, 2, 3), np.uint8)
    >>> [view.title for view in views_of([("first", black, black), ("second", black, black)], "two").views]
    ['first', 'second']
    """
    squares = [np.square((found.astype(np.float32) - target) / 255).mean(-1) for _, target, found in places]
    ceiling = round_ceiling(float(np.sqrt(np.quantile(np.stack(squares), 0.999))))
    shown = []
    for (title, target, found), square in zip(places, squares, strict=True):
        factor = math.ceil(max(target.shape[:2]) / LARGEST_SIDE)
        first, second = (np.rint(reduced(part, factor)).astype(np.uint8) for part in (target, found))
        said = detail if factor == 1 else f"{detail}, each pixel the mean of {factor}x{factor}"
        shown.append(_place(title, said, first, second, reduced(square[..., None], factor)[..., 0], ceiling, None))
    return Pictures(shown, ceiling, float(np.sqrt(max(float(square.max()) for square in squares))))


def _error_squares(target: Image, reconstruction: Image) -> np.ndarray:
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


def _reduced_pixels(image: Image, factor: int) -> np.ndarray:
    if factor == 1:
        return image.as_uint8()
    rows = factor * max(1, BAND_PIXELS // (factor * image.width))
    bands = [
        reduced(_pixels(image, slice(top, top + rows), slice(None)), factor) for top in range(0, image.height, rows)
    ]
    return np.concatenate(bands).round().astype(np.uint8)


def _pixels(image: Image, rows: slice, columns: slice) -> np.ndarray:
    part = image.with_pixels(np.ascontiguousarray(image.array[rows, columns]))
    return part.as_uint8()


def _places(target: Image, squares: np.ndarray) -> list[tuple[str, int, int]]:
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
    means = reduced(score[..., None], block)[..., 0]
    row, column = np.unravel_index(int(means.argmax()), means.shape)
    return (int(row) * block + block // 2) * step, (int(column) * block + block // 2) * step


def _corner(centre: tuple[int, int], shape: tuple[int, int]) -> tuple[int, int]:
    top, left = (
        min(max(0, middle - CROP_SIDE // 2), max(0, size - CROP_SIDE))
        for middle, size in zip(centre, shape, strict=True)
    )
    return top, left


def _place(
    title: str,
    detail: str,
    target: np.ndarray,
    reconstruction: np.ndarray,
    squares: np.ndarray,
    ceiling: float,
    profile: bytes | None,
) -> Place:
    height, width = target.shape[:2]
    levels = error_levels(np.sqrt(squares), ceiling)
    return Place(
        title,
        detail,
        width,
        height,
        picture_uri(target, profile),
        picture_uri(reconstruction, profile),
        error_uri(levels),
    )
