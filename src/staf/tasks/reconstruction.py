"""Reconstruction: fit a signal's own samples by least squares."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.ops.squared_error import weighted_squared_error
from staf.signals.base import Signal
from staf.signals.grid import Convention, coordinates
from staf.signals.value_transform import value_transform
from staf.tasks.whole_grid import reconstructed
from staf.training.task import Batch, Predict

# Coordinates of signals up to this many points are made once; larger ones are made batch by batch.
CACHED_POINTS = 2**22
# Coordinates of grids of up to this many points are made once for all signals that have them.
SHARED_POINTS = 2**16
# Points whose coordinates are held at once while the whole signal is predicted.
EVALUATED_POINTS = 2**20


def grid_of(shape: tuple[int, ...], convention: Convention) -> Tensor:
    """All coordinates of a grid; small ones are the same tensor for many signals, so it must not be changed.

    >>> grid_of((2, 3), "centres") is grid_of((2, 3), "centres")
    True
    """
    return _small_grid(shape, convention) if math.prod(shape) <= SHARED_POINTS else coordinates(shape, convention)


@functools.lru_cache(maxsize=4)
def _small_grid(shape: tuple[int, ...], convention: Convention) -> Tensor:
    with torch.inference_mode(False):
        return coordinates(shape, convention)


class Reconstruction:
    """Minimise the mean squared error at every sample of a signal.

    Values are scaled by `signals.value_transform`: images to [0, 1], audio divided by its peak to [-1, 1]; the peak of
    the PSNR is 1 in both cases. The loss of a batch is sum_i w_i |f(x_i) - y_i|^2 / c, with weights that sum to one.
    `reconstruction` is the signal that the last `evaluate` measured.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> task = Reconstruction(Image(np.zeros((2, 3), dtype=np.uint8)))
    >>> task.points, task.batch(None).target.shape
    (6, torch.Size([6, 1]))
    """

    def __init__(self, signal: Signal, convention: Convention = "centres") -> None:
        self.signal = signal
        self.convention: Convention = convention
        self.in_features = signal.in_features
        self.out_features = signal.out_features
        self.transform = value_transform(signal)
        self.target = self.transform.fitted(signal.values())
        self.coordinates = grid_of(tuple(signal.shape), convention) if self.points <= CACHED_POINTS else None
        self.reconstruction: Signal | None = None

    @property
    def points(self) -> int:
        return len(self.target)

    @property
    def observation(self) -> Tensor:
        return self.target.T.reshape(self.out_features, *self.signal.shape)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        if index is None:
            index_points, target = self.coordinates, self.target
            if index_points is None:
                index_points = coordinates(self.signal.shape, self.convention, device=self.target.device)
        else:
            target = self.target[index]
            if self.coordinates is not None:
                index_points = self.coordinates[index]
            else:
                index_points = coordinates(self.signal.shape, self.convention, index)
        if weight is None:
            weight = torch.full((len(target),), 1.0 / len(target), device=target.device)
        return Batch(index_points, target, weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        return weighted_squared_error(field(batch.coordinates), batch.target, batch.weight)

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """The signal's own measures of one fresh pass over all points, clamped: PSNR with peak 1, and others."""
        prediction, target = self.predict(predict), self.target.float()
        self.reconstruction = reconstructed(self.signal, self.transform, prediction)
        return self.signal.measures(prediction, target)

    def evaluate_each(self, others: Sequence[Self], values: Tensor) -> list[dict[str, float]] | None:
        """`evaluate` of this task and others by what each network predicts, (networks, points, c), all at once.

        None where the kind of signal has no measures for several, where sizes differ, and in classes that evaluate
        otherwise.
        """
        tasks, measures = [self, *others], getattr(self.signal, "measures_of_each", None)
        own_way = type(self).evaluate is not Reconstruction.evaluate
        if own_way or measures is None or any(task.signal.shape != self.signal.shape for task in tasks):
            return None
        clamped = torch.stack([task.transform.clamp(own).float() for task, own in zip(tasks, values, strict=True)])
        found: list[dict[str, float]] | None = measures(clamped, torch.stack([task.target.float() for task in tasks]))
        if found is not None:
            for task, own in zip(tasks, clamped.cpu(), strict=True):
                task.reconstruction = reconstructed(task.signal, task.transform, own)
        return found

    def predict(self, predict: Predict) -> Tensor:
        """Every point's fitted number (n, c), clamped to its range, without holding all coordinates at once."""
        parts = []
        for start in range(0, self.points, EVALUATED_POINTS):
            index = torch.arange(start, min(start + EVALUATED_POINTS, self.points), device=self.target.device)
            parts.append(self.transform.clamp(predict(self.batch(index).coordinates)).float())
        return torch.cat(parts)

    def metadata(self) -> Document:
        return {"task": "reconstruction", "convention": self.convention, "signal": self.signal.metadata()}

    def to(self, device: torch.device | str) -> Self:
        self.target = self.target.to(device)
        if self.coordinates is not None:
            self.coordinates = self.coordinates.to(device)
        return self
