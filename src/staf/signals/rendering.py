"""A field drawn on a grid of any scale, size and crop, in memory that the output's size does not set."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from staf._documents import MOST_POINTS
from staf.signals import grid
from staf.signals.errors import SignalError
from staf.signals.grid import Convention
from staf.signals.host_copy import Arriving, to_host

Predict = Callable[[Tensor], Tensor]
Crop = tuple[float, float, float, float]
# The most samples of a rendering along an axis, whose positions are held in memory.
LONGEST_AXIS = 2**28
# Points that are evaluated together, by type of device.
RENDER_POINTS = {"cpu": 2**16, "cuda": 2**18}


class OutputGrid(NamedTuple):
    """Where a field is evaluated: the positions of the output's samples along each axis."""

    axes: tuple[Tensor, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)


def output_grid(
    shape: tuple[int, int],
    *,
    crop: Crop | None = None,
    size: tuple[int, int] | None = None,
    scale: float | None = None,
    convention: Convention = "centres",
) -> OutputGrid:
    """The rows and columns of a rendering of a source grid of `shape` (h, w).

    Args:
        crop: (left, top, right, bottom) in source pixels, right and bottom excluded; by default everything.
        size: (width, height) of the output in pixels.
        scale: output pixels per source pixel; the sides are rounded to whole pixels, at least one. Not with `size`.
        convention: that of the fit. `centres` takes the cell centres of the new grid, so that every scale shows the
            same picture; `ends` spreads the samples from the first source pixel to the last.

    >>> output_grid((4, 6), scale=0.5).shape, output_grid((4, 6), crop=(1, 0, 3, 4), size=(20, 10)).shape
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
    if size is not None and not (len(size) == 2 and _whole(size)):
        raise SignalError(f"size must be (width, height) in whole pixels, at least one, got {size}")
    counts = None if size is None else size[::-1]
    return window_grid(shape, ((top, bottom), (left, right)), counts, scale, convention)


def window_grid(
    shape: Sequence[int],
    windows: Sequence[tuple[float, float]],
    size: Sequence[int] | None = None,
    scale: float | None = None,
    convention: Convention = "centres",
) -> OutputGrid:
    """Samples over the window [start, stop) of each axis of a source grid of any dimension, by `size` or `scale`.

    >>> window_grid((4, 6, 8), [(0, 4), (0, 6), (2, 4)], scale=2).shape
    (8, 12, 4)
    """
    if size is not None and scale is not None:
        raise SignalError(f"size and scale exclude each other, got size={tuple(size)} and scale={scale}")
    if scale is not None and not (isinstance(scale, Real) and 0 < scale < float("inf")):
        raise SignalError(f"scale must be a positive number, got {scale!r}")
    if size is not None and not (len(size) == len(shape) and _whole(size)):
        raise SignalError(f"size must be {len(shape)} whole numbers of at least 1, got {tuple(size)}")
    factor = 1.0 if scale is None else scale
    counts = [round((stop - start) * factor) for start, stop in windows] if size is None else size
    if max(counts) > LONGEST_AXIS or math.prod(counts) > MOST_POINTS:
        asked = f"scale {scale:g}" if size is None else "size"
        shape_asked = " x ".join(f"{count:.3g}" if count > LONGEST_AXIS else str(count) for count in counts)
        raise SignalError(f"{asked} asks for {shape_asked} samples, and at most {MOST_POINTS:,} can be rendered")
    return OutputGrid(
        tuple(
            grid.window(n, start, stop, max(1, count), convention)
            for n, (start, stop), count in zip(shape, windows, counts, strict=True)
        )
    )


def _whole(size: Sequence[int]) -> bool:
    return all(isinstance(count, Integral) and count >= 1 for count in size)


def render_bands(
    predict: Predict,
    output: OutputGrid,
    *,
    encode: Callable[[Tensor], Arriving],
    chunk: int | None = None,
    device: torch.device | str | None = None,
) -> Iterator[np.ndarray]:
    """Bands (k, ..., c) of a rendering along its first axis, through `encode`, each of at most `chunk` points or one
    row.

    On a GPU a band is handed out when the next one has been started, so that it computes while the host writes.
    """
    if chunk is not None and chunk < 1:
        raise SignalError(f"chunk must be at least 1 point, got {chunk}")
    first, *rest = (axis.to(device) for axis in output.axes)
    height, width = len(first), math.prod(output.shape[1:])
    chunk = chunk or points_at_once(first.device)
    step = max(1, chunk // width)
    ahead = 1 if first.is_cuda else 0
    started: deque[list[Arriving]] = deque()

    def finished(parts: list[Arriving]) -> np.ndarray:
        arrays = [part() for part in parts]
        band = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1)
        return band.reshape(len(band), *output.shape[1:], band.shape[2])

    for top in range(0, height, step):
        band = first[top : top + step]
        lefts = range(0, width, chunk)
        parts = (_positions(rest, left, min(left + chunk, width), band) for left in lefts)
        started.append([encode(_evaluate(predict, band, part)) for part in parts])
        if len(started) > ahead:
            yield finished(started.popleft())
    while started:
        yield finished(started.popleft())


def points_at_once(device: torch.device) -> int:
    """How many points a device evaluates together where nothing else is said."""
    return RENDER_POINTS.get(device.type, RENDER_POINTS["cpu"])


def render_grid(
    predict: Predict,
    output: OutputGrid,
    *,
    encode: Callable[[Tensor], Arriving] | None = None,
    chunk: int | None = None,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """Evaluates `predict`, coordinates (n, d) to values (n, c), on an output grid: an array (*shape, c).

    The array is allocated once in the type that `encode` gives (float32 without one; `Image.encode` gives an image's
    own samples) and filled band by band, `chunk` points at a time (by default 65,536, on a GPU 262,144), on `device`.

    >>> ramp = render_grid(lambda x: x[:, 1:], output_grid((2, 2), scale=2))
    >>> ramp[0, :, 0].tolist()
    [-0.75, -0.25, 0.25, 0.75]
    """
    out: np.ndarray | None = None
    top = 0
    for band in render_bands(predict, output, encode=encode or _as_float32, chunk=chunk, device=device):
        if out is None:
            out = np.empty((*output.shape, band.shape[-1]), dtype=band.dtype)
        out[top : top + len(band)] = band
        top += len(band)
    assert out is not None
    return out


def _as_float32(values: Tensor) -> Arriving:
    return to_host(values.to(torch.float32))


def _positions(axes: list[Tensor], start: int, stop: int, like: Tensor) -> Tensor:
    """Combinations number `start` to `stop` of the positions along `axes`, in C order: (stop - start, len(axes))."""
    index = torch.arange(start, stop, device=like.device)
    columns = []
    for axis in reversed(axes):
        columns.append(axis[index % len(axis)])
        index = index // len(axis)
    return torch.stack(columns[::-1], dim=-1) if columns else like.new_zeros(stop - start, 0)


def _evaluate(predict: Predict, first: Tensor, rest: Tensor) -> Tensor:
    """Values (h, m, c) at the product of `first` (h,) and `rest` (m, d-1)."""
    h, (m, others) = len(first), rest.shape
    points = torch.cat([first[:, None, None].expand(h, m, 1), rest[None].expand(h, m, others)], dim=-1)
    with torch.no_grad():
        values = predict(points.reshape(h * m, 1 + others))
    if values.ndim != 2 or len(values) != h * m:
        raise SignalError(f"predict must return values of shape ({h * m}, c), got {tuple(values.shape)}")
    return values.reshape(h, m, values.shape[1])
