"""Grid: an array of 1 to 4 dimensions with any number of channels."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from staf._documents import Document, Entries, Record
from staf.kinds.grid.samples import checked_samples, checked_spacing, has_channels, range_of, rounded
from staf.kinds.plain_arrays import plain_array
from staf.signals.base import Signal, as_array
from staf.signals.errors import NoSamples, SignalError
from staf.signals.grid import Convention
from staf.signals.host_copy import Arriving, to_host
from staf.signals.rendering import OutputGrid, Predict, render_bands, render_grid, window_grid
from staf.tasks import Reconstruction

if TYPE_CHECKING:
    from staf.kinds.grid.view import GridView

# The span [start, stop) of each axis, in samples.
Windows = Sequence[tuple[float, float]]

# Values at a point, of which a file may speak.
MOST_VALUES = 2**20


class Grid(Signal):
    """Samples of any real type on a grid of 1 to 4 axes: a time series, a hyperspectral image, a volume, a sequence.

    A field is fitted to (value - low) / (high - low), where low and high are the extremes of all samples. The peak of
    the PSNR is high - low. The array can be memory-mapped.

    Args:
        array: (*shape) or (*shape, channels).
        channels: whether the last axis has the channels. By default it does in an array of 3 or more axes whose last
            axis has at most 16 entries; `notes` says so.
        name: its name.
        spacing: the side of a cell along each axis, if known; millimetres in files of scanners.

    >>> volume = Grid(np.arange(24, dtype=np.int16).reshape(2, 3, 4), channels=False, name="volume")
    >>> volume
    Grid('volume', 2x3x4, 1 channel, int16)
    >>> volume.value_range, volume.values().shape
    ((0.0, 23.0), torch.Size([24, 1]))
    >>> Grid(np.zeros((8, 8, 5)))
    Grid('grid', 8x8, 5 channels, float64)
    """

    kind = "grid"

    def __init__(
        self,
        array: ArrayLike,
        *,
        channels: bool | None = None,
        name: str = "grid",
        source: str | None = None,
        notes: Sequence[str] = (),
        spacing: Sequence[float] | None = None,
    ) -> None:
        samples = checked_samples(plain_array(array, "a grid"))
        self.has_channels, said = has_channels(samples.shape, channels)
        self._array: np.ndarray | None = samples
        self._set_shape(samples.shape)
        self.dtype = samples.dtype
        self._value_range, said_of_range = range_of(samples)
        self.name = name
        self.source = source
        self.notes = [*notes, *said, *said_of_range]
        self.spacing = checked_spacing(spacing, self.in_features)

    def _set_shape(self, whole: tuple[int, ...]) -> None:
        """The grid and the channels of an array of shape `whole`."""
        self._shape = tuple(whole[:-1] if self.has_channels else whole)
        self.in_features = len(self._shape)
        self.out_features = whole[-1] if self.has_channels else 1

    def __repr__(self) -> str:
        size = "x".join(str(n) for n in self.shape) if self.in_features > 1 else f"{self.shape[0]} samples"
        channels = f"{self.out_features} channel" + "s" * (self.out_features > 1)
        empty = ", no samples" if self._array is None else ""
        return f"Grid({self.name!r}, {size}, {channels}, {self.dtype}{empty})"

    @property
    def array(self) -> np.ndarray:
        """The samples, (*shape, channels), as they came."""
        samples = self._samples()
        return samples if self.has_channels else samples[..., None]

    def _samples(self) -> np.ndarray:
        if self._array is None:
            raise NoSamples(f"grid {self.name!r} was rebuilt from metadata and holds no samples: it can only render")
        return self._array

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        """The array that the grid was made of."""
        return as_array(np.asarray(self._samples()), dtype, copy)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def nbytes(self) -> int:
        return self.points * self.out_features * self.dtype.itemsize

    @property
    def value_range(self) -> tuple[float, float]:
        return self._value_range

    def values(self) -> Tensor:
        flat = self._samples().reshape(-1, self.out_features)
        return torch.from_numpy(np.array(flat, np.float32, order="C"))

    def encode(self, values: Tensor) -> Arriving:
        """Convert values (..., c) to this grid's type: clamped to the range, integers rounded to the nearest.

        >>> Grid(np.array([0, 9], np.uint8)).encode(torch.tensor([[4.6], [99.0]]))().tolist()
        [[5], [9]]
        """
        host = to_host(values.to(torch.float32))

        def arrived() -> np.ndarray:
            numbers = host()
            if not np.isfinite(numbers).all():
                raise SignalError(f"values for grid {self.name!r} must be numbers, got NaN or infinity")
            return rounded(numbers, self.dtype, self.value_range)

        return arrived

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Grid:
        shape = self.shape if shape is None else tuple(shape)
        expected = (math.prod(shape), self.out_features)
        if tuple(values.shape) != expected:
            raise SignalError(f"values must have shape {expected}, got {tuple(values.shape)}")
        return self._with(self.encode(values.detach())().reshape(*shape, self.out_features), self._spread_over(shape))

    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> Grid:
        shape = self.shape if shape is None else tuple(shape)
        array = values.detach().to("cpu", torch.float32).reshape(*shape, self.out_features).numpy()
        spacing = self._spread_over(shape)
        return Grid(self._as_came(array), channels=self.has_channels, name=self.name, spacing=spacing)

    def with_channels(self, channels: bool) -> Grid:
        """The same array with its last axis as channels, or as an axis of the grid.

        >>> Grid(np.zeros((8, 8, 5))).with_channels(False)
        Grid('grid', 8x8x5, 1 channel, float64)
        """
        # An axis more or less has no known side.
        spacing = self.spacing if channels == self.has_channels else None
        return Grid(self._samples(), channels=channels, name=self.name, source=self.source, spacing=spacing)

    def _with(self, array: np.ndarray, spacing: Sequence[float] | None) -> Grid:
        """Other samples (*shape, c) of the same type, with this grid's name, layout and range."""
        grid = Grid(self._as_came(array), channels=self.has_channels, name=self.name, spacing=spacing)
        grid._value_range, grid.notes = self.value_range, []
        return grid

    def _spread_over(self, shape: Sequence[int], crop: Windows | None = None) -> tuple[float, ...] | None:
        """The sides of cells that divide this grid, or a part of it, into `shape`."""
        if self.spacing is None:
            return None
        windows = [(0.0, float(n)) for n in self.shape] if crop is None else crop
        return tuple(side * (b - a) / n for side, (a, b), n in zip(self.spacing, windows, shape, strict=True))

    def _as_came(self, array: np.ndarray) -> np.ndarray:
        """Samples (*shape, c) with or without the axis of the channels, as this grid has it."""
        return array if self.has_channels else array[..., 0]

    def metadata(self) -> Document:
        return {
            "kind": self.kind,
            "name": self.name,
            "shape": list(self.shape),
            "channels": self.out_features,
            "has_channels": self.has_channels,
            "dtype": self.dtype.name,
            "value_range": list(self.value_range),
            "notes": list(self.notes),
            **({} if self.spacing is None else {"spacing": list(self.spacing)}),
        }

    def empty(self, shape: Sequence[int] | None = None) -> Grid:
        grid = super().empty(shape)
        grid.spacing = self._spread_over(grid.shape)
        return grid

    @classmethod
    def from_metadata(cls, metadata: Entries) -> Grid:
        """The empty grid that `metadata` describes: everything but samples.

        >>> Grid.from_metadata(Grid(np.zeros((4, 5, 6, 20), np.float16)).metadata())
        Grid('grid', 4x5x6x20, 1 channel, float16, no samples)
        """
        try:
            record = Record(metadata)
            shape, channels = record.grid("shape", range(1, 5)), record.whole("channels", least=1, most=MOST_VALUES)
            with_axis, dtype = record.truth("has_channels"), np.dtype(record.text("dtype"))
            low, high = record.numbers("value_range", 2)
            name, notes = record.text("name"), record.texts("notes")
            spacing = record.numbers("spacing", len(shape)) if "spacing" in metadata else None
        except (TypeError, ValueError, SyntaxError) as error:
            raise SignalError(f"metadata of a grid is incomplete or malformed: {error}") from error
        if dtype.kind not in "biuf":
            raise SignalError(f"metadata describes no grid: shape {shape}, {channels} channels of {dtype}")
        if not with_axis and channels != 1:
            raise SignalError(f"metadata describes no grid: {channels} channels without an axis for them")
        if low >= high:
            raise SignalError(f"value_range in metadata must be an increasing pair of numbers, got {low}, {high}")
        grid = cls.__new__(cls)
        grid._array, grid.has_channels, grid.dtype = None, with_axis, dtype
        grid._set_shape((*shape, channels) if with_axis else shape)
        grid._value_range, grid.name, grid.source, grid.notes = (low, high), name, None, notes
        grid.spacing = checked_spacing(spacing, len(shape))
        return grid

    @classmethod
    def blank(
        cls,
        shape: Sequence[int],
        value_range: tuple[float, float],
        *,
        name: str = "grid",
        spacing: Sequence[float] | None = None,
    ) -> Grid:
        """A float32 grid without samples, for an unknown result.

        >>> Grid.blank((64, 64), (0.0, 0.05), spacing=(0.5, 0.5))
        Grid('grid', 64x64, 1 channel, float32, no samples)
        """
        described: Document = {
            "name": name,
            "shape": list(shape),
            "channels": 1,
            "has_channels": False,
            "dtype": "float32",
            "value_range": list(value_range),
            "notes": [],
        }
        return cls.from_metadata(described if spacing is None else {**described, "spacing": list(spacing)})

    def output_grid(
        self,
        *,
        crop: Windows | None = None,
        size: Sequence[int] | None = None,
        scale: float | None = None,
        convention: Convention = "centres",
    ) -> OutputGrid:
        """The grid on which `render` evaluates a field.

        >>> Grid(np.zeros((4, 6, 20))).output_grid(crop=[(0, 4), (1, 3), (0, 20)], scale=2).shape
        (8, 4, 40)
        """
        windows = [(0.0, float(n)) for n in self.shape] if crop is None else list(crop)
        shortest = 1.0 if convention == "ends" else 0.0
        inside = [0 <= a < b <= n and b - a >= shortest for (a, b), n in zip(windows, self.shape, strict=False)]
        if len(windows) != self.in_features or not all(inside):
            raise SignalError(f"crop must be a (start, stop) inside each axis of {self.shape}, got {windows}")
        return window_grid(self.shape, windows, size, scale, convention)

    def render(
        self,
        predict: Predict,
        *,
        crop: Windows | None = None,
        size: Sequence[int] | None = None,
        scale: float | None = None,
        convention: Convention = "centres",
        chunk: int | None = None,
        device: torch.device | str | None = None,
    ) -> Grid:
        """The field `predict`, coordinates (n, d) to values (n, c), as a grid of this one's type and layout.

        `crop` is the span (start, stop) of each axis in samples, `size` the output's samples along each axis, `scale`
        its samples per sample. `predict` gets at most `chunk` points, on `device`.

        >>> line = Grid(np.array([0.0, 1.0]))
        >>> np.asarray(line.render(lambda x: (x + 1) / 2, scale=2)).tolist()
        [0.125, 0.375, 0.625, 0.875]
        """
        output = self.output_grid(crop=crop, size=size, scale=scale, convention=convention)
        array = render_grid(predict, output, encode=self.encode, chunk=chunk, device=device)
        return self._with(array, self._spread_over(output.shape, crop))

    def render_file(
        self,
        predict: Predict,
        path: str | os.PathLike[str],
        *,
        crop: Windows | None = None,
        size: Sequence[int] | None = None,
        scale: float | None = None,
        convention: Convention = "centres",
        chunk: int | None = None,
        device: torch.device | str | None = None,
    ) -> Path:
        """As `render(...).save(path)`, but written in parts, so that memory does not grow with the array."""
        from staf.kinds.grid.files import write_npy

        output = self.output_grid(crop=crop, size=size, scale=scale, convention=convention)
        bands = render_bands(predict, output, encode=self.encode, chunk=chunk, device=device)
        whole = (*output.shape, self.out_features) if self.has_channels else output.shape
        return write_npy(path, (self._as_came(band) for band in bands), whole, self.dtype)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an NPY file in the type and layout of the original array, completely or not at all.

        The suffixes .nii and .nii.gz write NIfTI files, with the size of the voxels.
        """
        from staf.kinds.grid.files import write_npy

        samples = self._samples()
        if str(path).lower().endswith((".nii", ".nii.gz")):
            from staf.kinds.grid.medical import write_nifti

            return write_nifti(path, samples, self.spacing)
        return write_npy(path, iter([samples]), samples.shape, self.dtype)

    def task(self, convention: Convention = "centres") -> Reconstruction:
        return Reconstruction(self, convention)

    @property
    def view(self) -> GridView:
        from staf.kinds.grid.view import GridView

        return GridView(self)
