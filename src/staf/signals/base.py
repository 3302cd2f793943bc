"""Signal: the interface of all kinds of signals."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from staf._documents import Document, Entries
from staf.metrics import psnr
from staf.signals import grid
from staf.signals.grid import Convention

if TYPE_CHECKING:
    from staf.planning.situation import Rule
    from staf.signals.rendering import Predict
    from staf.signals.view import View
    from staf.training.recipe import Recipe
    from staf.training.task import Task


class Signal(ABC):
    """Samples of a function on a regular grid over [-1, 1]^d; the base class of all kinds of signals.

    A field maps coordinates (n, d) to values (n, c). `values` are the samples in the signal's own units, in C order of
    the grid `shape`; `from_values` makes a signal from such values. An empty signal, made by `from_metadata`, has no
    samples: it can only render.

    Attributes:
        kind: the name under which the kind is registered (`staf.kinds.register`).
        in_features: d, the number of coordinates.
        out_features: c, the number of values at a point.
        name: its name.
        source: the file it was read from, if any.
        notes: sentences about changes during reading.
    """

    kind: ClassVar[str]
    in_features: int
    out_features: int
    name: str
    source: str | None
    notes: list[str]

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The number of samples along each axis of the grid."""

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The approximate size of its file in bytes."""
        return 4 * self.points * self.out_features

    @property
    @abstractmethod
    def value_range(self) -> tuple[float, float]:
        """The interval of the values; predictions are clamped to it."""

    @property
    def value_offset_scale(self) -> tuple[float, float]:
        """A field is fitted to (value - offset) / scale; by default this scales the value range to [0, 1]."""
        low, high = self.value_range
        return low, high - low

    @abstractmethod
    def values(self) -> Tensor:
        """The samples, float32 (n, c), in C order."""

    def coordinates(self, convention: Convention = "centres", index: Tensor | None = None) -> Tensor:
        """Coordinates (n, d) in [-1, 1] of every sample, or of those in a flat `index` (n,)."""
        return grid.coordinates(self.shape, convention, index)

    def coordinate_units(self, convention: Convention = "centres") -> tuple[float, ...]:
        """The number of the signal's own units (by default samples) in one unit of each coordinate."""
        spare = 0 if convention == "centres" else 1
        return tuple(max(1, size - spare) / 2 for size in self.shape)

    @abstractmethod
    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Self:
        """The signal of this kind whose `values()` are `values` (n, c), clamped and rounded to its type."""

    @abstractmethod
    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> Self:
        """A signal of this kind with float32 `values` (n, c), not clamped or rounded, such as an observation."""

    @abstractmethod
    def metadata(self) -> Document:
        """JSON-able data from which `from_metadata` builds an empty signal that renders like this one."""

    @classmethod
    @abstractmethod
    def from_metadata(cls, metadata: Entries) -> Self:
        """The empty signal that `metadata` describes."""

    def empty(self, shape: Sequence[int] | None = None) -> Self:
        """A signal like this one without samples, on its own grid or on one of another `shape`."""
        metadata = self.metadata()
        return type(self).from_metadata(metadata if shape is None else {**metadata, "shape": list(shape)})

    @abstractmethod
    def render(
        self,
        predict: Predict,
        *,
        convention: Convention = "centres",
        device: torch.device | str | None = None,
    ) -> Self:
        """The field `predict`, (n, d) to (n, c), as a signal of this kind; each kind adds its own size and crop.

        `predict` gets coordinates on `device`.
        """

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the signal in the format of the suffix, completely or not at all."""

    @abstractmethod
    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        """The samples as a numpy array, so that `np.asarray(signal)` works."""

    @abstractmethod
    def task(self, convention: Convention = "centres") -> Task:
        """The task that `staf.fit` solves for this signal."""

    def as_planned(self, recipe: Recipe) -> Self:
        """This signal with its open choices set by the recipe; by default unchanged."""
        return self

    def plan_rules(self) -> Mapping[str, Rule | None]:
        """Rules that this kind adds to planning, or that replace the general ones, by topic; by default none.

        None instead of a rule removes the topic.
        """
        return {}

    def measures(self, prediction: Tensor, target: Tensor) -> dict[str, float]:
        """Metrics of a prediction (n, c) on the signal's grid against a target (n, c), both as a field fits them."""
        return {"psnr": float(psnr(prediction, target, data_range=1.0))}

    @property
    @abstractmethod
    def view(self) -> View[Any]:
        """How reports, run folders, notebooks and the command line show this signal."""


def as_array(array: np.ndarray, dtype: np.dtype | None, copy: bool | None) -> np.ndarray:
    """What `__array__` returns for an array that a signal holds.

    >>> as_array(np.zeros(2, np.uint8), np.dtype(np.float32), None).dtype
    dtype('float32')
    """
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"the samples are {array.dtype}: copy=False cannot make them {dtype}")
        return array.astype(dtype)
    return array.copy() if copy else array
