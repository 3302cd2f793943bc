"""A field drawn on a grid of any scale, size and crop, in memory that the output's size does not set."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from staf.signals import grid
from staf.signals.errors import SignalError
from staf.signals.grid import Convention
from staf.signals.host_copy import Arriving, to_host

Predict = Callable[[Tensor], Tensor]
Crop = tuple[float, float, float, float]
# Points that are evaluated together, by type of device.
CHUNK = {"cpu": 2**16, "cuda": 2**18}


class View(NamedTuple):
    """Where an image is looked at: the positions of the output's rows (h,) and columns (w,)."""

    rows: Tensor
    columns: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)


def view(
    shape: tuple[int, int],
    *,
    crop: Crop | None = None,
    size: tuple[int, int] | None = None,
    scale: float | None = None,
    convention: Convention = "centres",
) -> View:
    """The rows and columns of a rendering of a source grid of `shape` (h, w).

    Args:
        crop: (left, top, right, bottom) in source pixels, right and bottom excluded; by default everything.
        size: (width, height) of the output in pixels.
        scale: output pixels per source pixel; the sides are rounded to whole pixels, at least one. Not with `size`.
        convention: that of the fit. `centres` takes the cell centres of the new grid, so that every scale shows the
            same picture; `ends` spreads the samples from the first source pixel to the last.

    >>> view((4, 6), scale=0.5).shape, view((4, 6), crop=(1, 0, 3, 4), size=(20, 10)).shape
    ((2, 3), (10, 20))
    """
    height, width = shape
    left, top, right, bottom = (0, 0, width, height) if crop is None else crop
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise SignalError(
            f"crop must be (left, top, right, bottom) inside {width}x{height} pixels and not empty, got {crop}"
        )
    if convention == "ends" and min(right - left, bottom - top) < 1:
        raise SignalError(f"crop must hold at least one pixel under the 'ends' convention, got {crop}")
    if size is not None and scale is not None:
        raise SignalError(f"size and scale exclude each other, got size={size} and scale={scale}")
    if scale is not None and not 0 < scale < float("inf"):
        raise SignalError(f"scale must be a positive number, got {scale}")
    factor = 1.0 if scale is None else scale
    columns, rows = (round((right - left) * factor), round((bottom - top) * factor)) if size is None else size
    if size is not None and min(size) < 1:
        raise SignalError(f"size must be (width, height) of at least one pixel, got {size}")
    return View(
        grid.window(height, top, bottom, max(1, rows), convention),
        grid.window(width, left, right, max(1, columns), convention),
    )


def render_bands(
    predict: Predict,
    view: View,
    *,
    encode: Callable[[Tensor], Arriving],
    chunk: int | None = None,
    device: torch.device | str | None = None,
) -> Iterator[np.ndarray]:
    """Bands (k, w, c) of a rendering from the top, through `encode`, each of at most `chunk` points or one row.

    On a GPU a band is handed out when the next one has been started, so that it computes while the host writes.
    """
    if chunk is not None and chunk < 1:
        raise SignalError(f"chunk must be at least 1 point, got {chunk}")
    height, width = view.shape
    rows, columns = view.rows.to(device), view.columns.to(device)
    chunk = chunk or CHUNK.get(rows.device.type, CHUNK["cpu"])
    step = max(1, chunk // width)
    ahead = 1 if rows.is_cuda else 0
    started: deque[list[Arriving]] = deque()
    for top in range(0, height, step):
        band = rows[top : top + step]
        lefts = range(0, width, chunk)
        started.append([encode(_evaluate(predict, band, columns[left : left + chunk])) for left in lefts])
        if len(started) > ahead:
            yield _joined(started.popleft())
    while started:
        yield _joined(started.popleft())


def _joined(parts: list[Arriving]) -> np.ndarray:
    arrays = [part() for part in parts]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1)


def render_grid(
    predict: Predict,
    view: View,
    *,
    encode: Callable[[Tensor], Arriving] | None = None,
    chunk: int | None = None,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """Evaluates `predict`, coordinates (n, 2) to values (n, c), on a view: an array (h, w, c).

    The array is allocated once in the type that `encode` gives (float32 without one; `Image.encode` gives an image's
    own samples) and filled band by band, `chunk` points at a time (by default 65,536, on a GPU 262,144), on `device`.

    >>> ramp = render_grid(lambda x: x[:, 1:], view((2, 2), scale=2))
    >>> ramp[0, :, 0].tolist()
    [-0.75, -0.25, 0.25, 0.75]
    """
    out: np.ndarray | None = None
    top = 0
    for band in render_bands(predict, view, encode=encode or _as_float32, chunk=chunk, device=device):
        if out is None:
            out = np.empty((*view.shape, band.shape[2]), dtype=band.dtype)
        out[top : top + len(band)] = band
        top += len(band)
    assert out is not None
    return out


def _as_float32(values: Tensor) -> Arriving:
    return to_host(values.to(torch.float32))


def _evaluate(predict: Predict, rows: Tensor, columns: Tensor) -> Tensor:
    """Values (h, w, c) at the product of `rows` (h,) and `columns` (w,)."""
    h, w = len(rows), len(columns)
    points = torch.stack([rows[:, None].expand(h, w), columns[None].expand(h, w)], dim=-1).reshape(h * w, 2)
    with torch.no_grad():
        values = predict(points)
    if values.ndim != 2 or len(values) != h * w:
        raise SignalError(f"predict must return values of shape ({h * w}, c), got {tuple(values.shape)}")
    return values.reshape(h, w, values.shape[1])
