"""Inverse problems: fit a field to what a linear operator observes of a signal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.operators.linear import LinearOperator, SampleMeans
from staf.signals.base import Signal
from staf.signals.grid import Convention, axis
from staf.signals.value_transform import value_transform
from staf.tasks.held_out import drawn, held_out_metadata, needed
from staf.tasks.whole_grid import channels_of, reconstructed, whole_grid
from staf.training.history import decibels
from staf.training.task import Batch, Predict

Noise = Callable[[Tensor, torch.Generator], Tensor]
# Points whose coordinates are held at once while an observation is predicted.
EVALUATED_POINTS = 2**18


class InverseProblem:
    """Minimise |A f - y|^2 for a linear operator A, an observation y, and a field f on the grid of A's input.

    A can be any operator of `staf.operators`, or your own with `A` and `A_adjoint`. If each observation is the mean of
    a few samples (`SampleMeans`: a mask, area means), observations are drawn in mini-batches and only their samples are
    evaluated. Any other operator mixes all samples: then all observations together are one point of the training, and
    each step evaluates the whole grid.

    Args:
        signal: the unknown signal: its kind, grid and value range. Its samples are never fitted.
        operator: A, from values (c, *input_shape) to observations (c, *output_shape). Its grid spans the signal's
            extent, and may be coarser or finer than the signal's own.
        observation: y, (c, *output_shape), in the signal's own units.
        truth: the signal itself, if it is known; only used to measure.
        convention: the positions of samples on the grids.
        held_out: the share of observations, in [0, 1), that is not fitted: the error there says how good a result is
            without the truth. `generator` draws them.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> from staf.operators import Mask
    >>> truth = Image(np.arange(64, dtype=np.uint8).reshape(8, 8))
    >>> half = Mask(torch.arange(64).reshape(8, 8) % 2 == 0)
    >>> task = InverseProblem.observing(truth, half)
    >>> task.points, task.batch(None).coordinates.shape
    (32, torch.Size([1, 32, 2]))
    """

    def __init__(
        self,
        signal: Signal,
        operator: LinearOperator,
        observation: Tensor,
        *,
        truth: Signal | None = None,
        convention: Convention = "centres",
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        if len(operator.input_shape) != signal.in_features:
            raise ValueError(
                f"operator must act on grids of {signal.in_features} axes, as the signal has, got input_shape "
                f"{operator.input_shape}"
            )
        expected = (signal.out_features, *operator.output_shape)
        if tuple(observation.shape) != expected:
            raise ValueError(f"observation must have shape {expected}, got {tuple(observation.shape)}")
        if truth is not None and (truth.shape, truth.out_features) != (signal.shape, signal.out_features):
            raise ValueError(f"truth must be on the signal's grid {signal.shape}, got {truth.shape}")
        self.signal, self.truth, self.operator, self.convention = signal, truth, operator, convention
        # What a plan may look at: the grid and the range, but no samples of the truth.
        self.observed: Signal = signal.empty()
        self.in_features, self.out_features = signal.in_features, signal.out_features
        self.transform = value_transform(signal)
        self.axes = [axis(size, convention) for size in operator.input_shape]
        self.reconstruction: Signal | None = None
        if isinstance(operator, SampleMeans):
            self.target = self.transform.fitted(observation).flatten(1).T.contiguous()
        else:
            offset = self.transform.offset
            if offset:
                observation = observation - offset * operator.A(torch.ones(signal.out_features, *operator.input_shape))
            self.target = (observation / self.transform.scale).reshape(1, -1)
        # Places of the observation's grid; all channels of a place are held out together.
        self.held_out_index, self.train_index = drawn(operator.output_shape, held_out, generator)

    @classmethod
    def observing(
        cls,
        truth: Signal,
        operator: LinearOperator,
        *,
        noise: Noise | None = None,
        generator: torch.Generator | None = None,
        convention: Convention = "centres",
        held_out: float = 0.0,
    ) -> Self:
        """The problem whose observation is A `truth`, with `noise` drawn from `generator` in units of the value range.

        The operator's grid must be the truth's own.
        """
        transform = value_transform(truth)
        fitted = operator.A(transform.fitted(channels_of(truth)))
        if noise is not None:
            fitted = noise(fitted, needed(generator, "noise"))
        constant = operator.A(torch.ones(truth.out_features, *operator.input_shape))
        observation = transform.offset * constant + transform.scale * fitted
        return cls(
            truth,
            operator,
            observation,
            truth=truth,
            convention=convention,
            held_out=held_out,
            generator=generator,
        )

    def coarser(self, share: float) -> Signal:
        """What a plan looks at where observations along a side are this share of the samples: rates follow them."""
        return self.signal.empty(tuple(max(1, round(size * share)) for size in self.signal.shape))

    @property
    def points(self) -> int:
        return len(self.train_index) if isinstance(self.operator, SampleMeans) else 1

    @property
    def points_each(self) -> int:
        """At how many points a step evaluates the field for each of `points`."""
        if isinstance(self.operator, SampleMeans):
            return len(self.operator.samples_of(torch.zeros(1, dtype=torch.int64)))
        return torch.Size(self.operator.input_shape).numel()

    @property
    def observation(self) -> Tensor:
        """What is observed, (c, *output_shape), as a field fits it."""
        shape = (self.out_features, *self.operator.output_shape)
        return (self.target.T if isinstance(self.operator, SampleMeans) else self.target).reshape(shape)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        """Coordinates (k, n, d): the k samples behind each observation lead, so that a batch splits over observations.

        For an operator that mixes all samples, n is 1 and k the size of the grid.
        """
        if index is None:
            index = torch.arange(self.points, device=self.target.device)
        return self._rows(self.train_index[index] if isinstance(self.operator, SampleMeans) else index, weight)

    def _rows(self, index: Tensor, weight: Tensor | None = None) -> Batch:
        """The batch of rows of the target, fitted or held out."""
        if isinstance(self.operator, SampleMeans):
            samples = self.operator.samples_of(index)
        else:
            total = torch.Size(self.operator.input_shape).numel()
            samples = torch.arange(total, device=index.device)[:, None].expand(total, len(index))
        columns = []
        for places in reversed(self.axes):
            columns.append(places[samples % len(places)])
            samples = samples // len(places)
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        return Batch(torch.stack(columns[::-1], dim=-1), self.target[index], weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        error = (self._observe(field, batch.coordinates) - batch.target).square()
        if not isinstance(self.operator, SampleMeans) and len(self.held_out_index):
            places = error.reshape(len(error), self.out_features, -1)
            error = places[..., self.train_index].flatten(1)
        error = error.mean(-1)
        return torch.dot(error, batch.weight.to(error.dtype))

    def _observe(self, field: Predict, points: Tensor) -> Tensor:
        """A f of a batch's coordinates (k, n, d), in the layout of its target."""
        values = field(points.reshape(-1, self.in_features)).reshape(*points.shape[:2], -1)
        if isinstance(self.operator, SampleMeans):
            return values.mean(0)
        grid = values[:, 0].T.reshape(self.out_features, *self.operator.input_shape)
        return self.operator.A(grid).reshape(1, -1)

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """The measures of the signal against the truth; without one, the PSNR of the observation, peak its range."""
        if self.truth is not None:
            prediction = self.predict(predict).cpu()
            self.reconstruction = reconstructed(self.signal, self.transform, prediction)
            return self.truth.measures(prediction, self.transform.fitted(self.truth.values()))
        clamp = isinstance(self.operator, SampleMeans)
        peak = 1.0 if clamp else float(self.target.max() - self.target.min()) or 1.0
        observed = self.observed_by(predict)
        observed = self.transform.clamp(observed) if clamp else observed
        return {"psnr": decibels(float((observed.double() - self.observation).square().mean()), peak)}

    def _chunks(self, index: Tensor) -> Iterator[Batch]:
        """Rows of the target, a bounded number of points at a time."""
        each = len(self._rows(index[:1]).coordinates) if len(index) else 1
        for part in index.split(max(1, EVALUATED_POINTS // each)):
            yield self._rows(part)

    def observed_by(self, predict: Predict) -> Tensor:
        """What would be observed of a field, (c, *output_shape), as `observation` is."""
        shape = (self.out_features, *self.operator.output_shape)
        rows = []
        with torch.no_grad():
            for batch in self._chunks(torch.arange(len(self.target), device=self.target.device)):
                rows.append(self._observe(predict, batch.coordinates))
        seen = torch.cat(rows)
        return (seen.T if isinstance(self.operator, SampleMeans) else seen).reshape(shape)

    def held_out_error(self, predict: Predict) -> float:
        """Mean squared error at the observations that training does not see, as they are `judged`."""
        if not len(self.held_out_index):
            raise ValueError("held_out must be positive to measure an error there, got 0")
        error = self.judged(self.observed_by(predict).double() - self.observation)
        return float(error.flatten(1)[:, self.held_out_index].square().mean())

    def judged(self, observation: Tensor) -> Tensor:
        """A linear map of observations (c, ...) after which a squared error says most of the result's; here none."""
        return observation

    def psnr(self, predict: Predict) -> float:
        """PSNR against the truth alone."""
        assert self.truth is not None
        target = self.transform.fitted(self.truth.values())
        return decibels(float((self.predict(predict).cpu().double() - target).square().mean()))

    def completed(self, values: Tensor) -> Tensor:
        """A solution (c, *shape), as a field fits it, with what is known besides the observation; here nothing."""
        return values

    def predict(self, predict: Predict) -> Tensor:
        """The field on the signal's grid, (n, c), clamped."""
        return whole_grid(predict, self.signal.shape, self.transform, self.convention, self.target.device)

    def metadata(self) -> Document:
        return {
            "task": "inverse_problem",
            "operator": type(self.operator).__name__,
            "convention": self.convention,
            **held_out_metadata(self.held_out_index),
            "signal": self.signal.metadata(),
        }

    def to(self, device: torch.device | str) -> Self:
        for name in ("target", "held_out_index", "train_index"):
            setattr(self, name, getattr(self, name).to(device))
        self.axes = [places.to(device) for places in self.axes]
        if hasattr(self.operator, "to"):
            self.operator = self.operator.to(device)
        return self
