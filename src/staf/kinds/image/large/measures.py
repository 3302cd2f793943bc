"""One pass of a field over a large image, in bands: PSNR, SSIM, the reconstruction and a small map of the error."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from staf.kinds.image.large.tiles import as_signed, as_values
from staf.metrics import ssim
from staf.metrics.ssim import WINDOW
from staf.signals.grid import Convention, axis
from staf.signals.host_copy import Arriving
from staf.training.task import Predict

BAND_PIXELS = 2**20
# Reconstructions above this many bytes are in a temporary file, not in memory.
MEMORY_BYTES = 2**30
# The longest side of the map of the error.
MAP_SIDE = 1024


@dataclass(frozen=True)
class Pass:
    """What one pass over an image has found.

    `pixels` (h, w, c) are the reconstruction's samples; `error` (h', w') is the root of the mean squared error over
    squares of pixels, at most 1024 a side; `finite` says whether every prediction was a number. `ssim` is None
    where it was not asked for.
    """

    psnr: float
    ssim: float | None
    pixels: np.ndarray
    error: np.ndarray
    finite: bool


def measure(
    predict: Predict,
    pixels: np.ndarray,
    encode: Callable[[Tensor], Arriving],
    *,
    value_range: tuple[float, float] = (0.0, 1.0),
    convention: Convention = "centres",
    device: torch.device | str = "cpu",
    similarity: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Pass:
    """Compare a field with an image's pixels (h, w, c) at every one of them: clamped, peak the width of `value_range`.

    `encode` makes samples of values, as `Image.encode`. SSIM, with `similarity`, is the mean over all window positions,
    as for an image in one piece: bands overlap by a window less one row. `progress` is called with the fraction that is
    done.

    >>> grey = np.full((20, 30, 1), 51, np.uint8)
    >>> found = measure(lambda x: torch.full((len(x), 1), 0.3), grey, lambda v: (v * 255).round().byte().numpy)
    >>> round(found.psnr, 3), found.pixels.shape, found.error.shape
    (20.0, (20, 30, 1), (20, 30))
    """
    height, width, channels = pixels.shape
    low, high = value_range
    scale = high - low
    out = _allocated(pixels.shape, pixels.dtype)
    square = max(1, -(-max(height, width) // MAP_SIDE))
    error = np.zeros((-(-height // square), -(-width // square)))
    total, similar, positions, finite = 0.0, 0.0, 0, True
    overlap = WINDOW - 1
    kept: tuple[Tensor, Tensor] | None = None
    for top, values in _bands(predict, height, width, square, convention, device):
        values = values.reshape(-1, width, channels)
        rows = slice(top, top + len(values))
        truth = as_values(torch.from_numpy(as_signed(np.array(pixels[rows]))).to(device), pixels.dtype)
        clamped = values.float().clamp(low, high)
        finite = finite and bool(torch.isfinite(clamped).all())
        squares = (clamped.double() - truth.double()).square().mean(-1) / scale**2
        total += float(squares.sum())
        _add_error(error, squares, top // square, square)
        if finite:
            out[rows] = encode(values)()
        if similarity:
            x, y = (clamped, truth) if kept is None else (torch.cat([kept[0], clamped]), torch.cat([kept[1], truth]))
            kept = (x, y)
            # An image with fewer rows than a window has one position, at its end.
            count = len(x) - overlap if height > overlap else int(top + len(values) == height)
            if count > 0:
                similar += count * float(ssim(x, y, data_range=value_range))
                positions += count
                kept = (x[-overlap:], y[-overlap:])
        if progress is not None:
            progress((top + len(values)) / height)
    mean = total / (height * width)
    decibels = math.nan if math.isnan(mean) else math.inf if mean == 0 else -10 * math.log10(mean)
    return Pass(decibels, similar / positions if similarity else None, out, error, finite)


def _bands(
    predict: Predict, height: int, width: int, square: int, convention: Convention, device: torch.device | str
) -> Iterator[tuple[int, Tensor]]:
    """The first row and the values (k w, c) of bands of whole squares' rows."""
    y, x = axis(height, convention).to(device), axis(width, convention).to(device)
    rows = max(1, BAND_PIXELS // (width * square)) * square
    with torch.no_grad():
        for top in range(0, height, rows):
            band = y[top : top + rows]
            yield top, predict(torch.stack(torch.meshgrid(band, x, indexing="ij"), dim=-1).reshape(-1, 2))


def _add_error(error: np.ndarray, squares: Tensor, first: int, square: int) -> None:
    """Root mean squares of squares (k, w), over squares of pixels, into the map from its row `first`."""
    height, width = squares.shape
    padded = torch.zeros(-(-height // square) * square, error.shape[1] * square, dtype=squares.dtype)
    padded[:height, :width] = squares.cpu()
    counts = torch.zeros_like(padded)
    counts[:height, :width] = 1
    blocks = (-1, square, error.shape[1], square)
    means = padded.reshape(blocks).sum((1, 3)) / counts.reshape(blocks).sum((1, 3))
    error[first : first + len(means)] = means.sqrt().numpy()


def _allocated(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = math.prod(shape) * dtype.itemsize
    if size <= MEMORY_BYTES:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile(prefix="staf-") as file:
        file.truncate(size)
        return np.memmap(file, dtype, mode="r+", shape=shape)
