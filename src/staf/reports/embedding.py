"""Pictures as data URIs, so that a page holds everything that it shows."""

from __future__ import annotations

import base64
import io
import math
from typing import TYPE_CHECKING

import numpy as np

from staf.figures.palette import ERROR_COLOURS

if TYPE_CHECKING:
    import PIL.Image

LARGEST_PROFILE = 16_384


def picture_uri(pixels: np.ndarray, profile: bytes | None = None) -> str:
    """Pixels (h, w, c) of 8 bits as a PNG in a data URI, with a colour profile unless it is large."""
    import PIL.Image

    picture = PIL.Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    return _png(picture, profile if profile is not None and len(profile) <= LARGEST_PROFILE else None)


def error_uri(levels: np.ndarray) -> str:
    """Levels (h, w) from 0 to 255 on the colour scale of error maps, as a PNG in a data URI."""
    import PIL.Image

    picture = PIL.Image.fromarray(levels)
    picture.putpalette(ERROR_COLOURS.tobytes())
    return _png(picture, None)


def error_levels(error: np.ndarray, ceiling: float) -> np.ndarray:
    """Errors (h, w) as levels of 8 bits: linear from zero to `ceiling`, and 255 above.

    >>> error_levels(np.array([[0.0, 0.5, 3.0]]), 1.0).tolist()
    [[0, 128, 255]]
    """
    return np.minimum(error * (255 / ceiling), 255).round().astype(np.uint8)


def reduced(array: np.ndarray, factor: int) -> np.ndarray:
    """Means over factor x factor blocks of (h, w, c); those at the far edges may be smaller."""
    if factor == 1:
        return array.astype(np.float32)
    height, width = array.shape[:2]
    tops, lefts = np.arange(0, height, factor), np.arange(0, width, factor)
    across = np.add.reduceat(array, lefts, axis=1, dtype=np.float64)
    sums = np.add.reduceat(across, tops, axis=0)
    counts = np.diff(np.append(tops, height))[:, None, None] * np.diff(np.append(lefts, width))[None, :, None]
    return (sums / counts).astype(np.float32)


def round_ceiling(value: float) -> float:
    """The smallest 1, 1.5, 2, 3, 5 or 7 times a power of ten that is not below `value`; at least one 16-bit level.

    >>> round_ceiling(0.034), round_ceiling(0.0)
    (0.05, 2e-05)
    """
    value = max(value, 1 / 65535)
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(m for m in (1, 1.5, 2, 3, 5, 7, 10) if m * power >= value * (1 - 1e-6)) * power:.1e}")


def error_scale(ceiling: float, levels: int | None = None) -> str:
    """The colours of an error map with their ends named: errors from 0 to `ceiling`, a share of the value range.

    `levels` is the range of pixels, which tell more than shares.
    """
    stops = "".join(
        f'<stop offset="{i / 8:.3f}" stop-color="#{bytes(ERROR_COLOURS[min(255, i * 32)]).hex()}"/>' for i in range(9)
    )
    counted = "" if levels is None else f" ({ceiling * levels:.3g} of {levels})"
    end = f"{ceiling:.3g} of the range{counted} and more"
    return (
        '<div class="scale"><svg viewBox="0 0 420 34" role="img" aria-label="Colours of the error map">'
        f'<defs><linearGradient id="scale">{stops}</linearGradient></defs>'
        '<rect width="420" height="12" rx="3" fill="url(#scale)"/>'
        '<text x="0" y="29">no error</text>'
        f'<text x="420" y="29" text-anchor="end">{end}</text>'
        "</svg></div>"
    )


def _png(picture: PIL.Image.Image, profile: bytes | None) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", icc_profile=profile)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
