"""Tomography of large volumes: each step uses some rays, so memory depends on the rays, not on the volume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.operators import BeamIntegrals
from staf.planning import capacity
from staf.planning.restoration import TOMOGRAPHY, batch_by_rays
from staf.planning.situation import Rule
from staf.signals.base import Signal
from staf.tasks.inverse import EVALUATED_POINTS
from staf.tasks.tomography import Tomography
from staf.training.task import Batch, Predict

# Grids of more cells are fitted by rays: all of 64x64x64, through a network of 256, take about 2 GiB a step.
MOST_CELLS = 2**18


class RayTomography(Tomography):
    """Tomography in which each step evaluates the field along some rays only, never on all cells.

    The integral along a ray of length L is L times the mean of the field at `ray_samples` places evenly along it, as
    many as the longest ray has steps. Nothing is interpolated between cells. Arguments are those of `Tomography`.

    >>> import numpy as np
    >>> from staf.kinds import Grid
    >>> from staf.operators import parallel_beam
    >>> disc = np.hypot(*np.mgrid[-7.5:8, -7.5:8]) < 5
    >>> operator = parallel_beam((16, 16), torch.arange(12) * torch.pi / 12)
    >>> task = RayTomography.simulated(Grid(disc.astype(np.float32)), operator)
    >>> task.batch(torch.tensor([4, 7])).coordinates.shape
    torch.Size([46, 2, 2])
    """

    operator: BeamIntegrals

    def __init__(
        self,
        signal: Signal,
        operator: BeamIntegrals,
        sinogram: Float[Tensor, "*out"],
        *,
        truth: Signal | None = None,
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(signal, operator, sinogram, truth=truth, held_out=held_out, generator=generator)
        self.ray_samples = operator.steps_along
        # Rays that miss the box say nothing.
        self.rays = self.train_index[operator.lengths[self.train_index] > 0]
        self._length = float(operator.lengths[self.rays].square().mean().sqrt())

    @property
    def points(self) -> int:
        return len(self.rays)

    @property
    def points_each(self) -> int:
        return self.ray_samples

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        """Coordinates (samples, n, d) along n rays; the target is the mean along each, its weight grows as length^2."""
        if index is None:
            index = torch.arange(self.points, device=self.rays.device)
        rays = self.rays[index]
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        lengths = self.operator.lengths[rays]
        return Batch(
            self.operator.along(rays, self.ray_samples),
            (self.target[0, rays] / lengths)[:, None],
            weight * (lengths / self._length).square(),
        )

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        """The mean squared error of the integrals, over the mean square of the rays' lengths."""
        error = (self._means(field, batch.coordinates) - batch.target).square().mean(-1)
        return torch.dot(error, batch.weight.to(error.dtype))

    def _means(self, field: Predict, points: Float[Tensor, "k n d"]) -> Float[Tensor, "n c"]:
        return field(points.reshape(-1, self.in_features)).reshape(*points.shape[:2], -1).mean(0)

    def observed_by(self, predict: Predict) -> Tensor:
        every = torch.arange(self.target.numel(), device=self.target.device)
        seen = [self._integrals(predict, rays) for rays in self._parts(every)]
        return torch.cat(seen).reshape(1, *self.operator.output_shape)

    def held_out_error(self, predict: Predict) -> float:
        if not len(self.held_out_index):
            return super().held_out_error(predict)
        held = self.held_out_index
        errors = [self._integrals(predict, rays).double() - self.target[0, rays] for rays in self._parts(held)]
        # Whole views are held out.
        views = torch.cat(errors).reshape(-1, *self.operator.output_shape[1:])
        return float(self.judged(views).square().mean())

    def _parts(self, rays: Tensor) -> Iterator[Tensor]:
        """Some rays at a time, a bounded number of places each."""
        return iter(rays.split(max(1, EVALUATED_POINTS // self.ray_samples)))

    @torch.no_grad()
    def _integrals(self, predict: Predict, rays: Tensor) -> Float[Tensor, " n"]:
        return self._means(predict, self.operator.along(rays, self.ray_samples))[:, 0] * self.operator.lengths[rays]

    def plan_rules(self) -> Mapping[str, Rule]:
        """As for `Tomography`, with batches of rays, and a finer grid where one is asked for."""
        return {**TOMOGRAPHY.rules(), "capacity": capacity.of_volume, "batch": batch_by_rays}

    def to(self, device: torch.device | str) -> RayTomography:
        super().to(device)
        self.rays = self.rays.to(device)
        return self
