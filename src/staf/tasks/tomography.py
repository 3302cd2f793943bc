"""Computed tomography: a picture or a volume from integrals along the rays of a scanner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf._typing import Float
from staf.operators import BeamIntegrals, TransmissionNoise
from staf.planning.restoration import TOMOGRAPHY
from staf.planning.situation import Rule
from staf.signals.base import Signal
from staf.tasks.held_out import check_share, needed
from staf.tasks.inverse import InverseProblem
from staf.tasks.tomography_classical import filtered_backprojection, ramp_filtered
from staf.training.task import Batch


class Tomography(InverseProblem):
    """An inverse problem of line integrals, y = integral of the attenuation along each ray: the logarithm of what a
    detector counts without the object over what it counts with it.

    Whole views are held out, because neighbouring rays would reveal the value of a held-out ray. The field is in the
    units of `signal`: attenuation per unit of length, which is the unit of the operator's spacing.

    Args:
        signal: the grid of the result; `Grid.blank(shape, estimated_range(...))` if it is unknown.
        operator: a `parallel_beam`, `fan_beam` or `cone_beam`.
        sinogram: (views, detectors) or (views, rows, columns).
        held_out: the share of views that is not fitted (at least one view, unless 0); `generator` draws them.

    >>> import numpy as np
    >>> from staf.kinds import Grid
    >>> from staf.operators import parallel_beam
    >>> disc = np.hypot(*np.mgrid[-7.5:8, -7.5:8]) < 5
    >>> operator = parallel_beam((16, 16), torch.arange(12) * math.pi / 12)
    >>> draw = torch.Generator().manual_seed(0)
    >>> task = Tomography.simulated(Grid(disc.astype(np.float32)), operator, generator=draw, held_out=0.1)
    >>> task.observation.shape, len(task.held_out_index)
    (torch.Size([1, 12, 23]), 23)
    """

    samples = 1

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
        super().__init__(signal, operator, sinogram[None], truth=truth)
        self.views = operator.output_shape[0]
        # In units of the mean ray's length a loss of 1 is that of a field which is wrong by its whole range.
        self._length = float(operator.lengths.square().mean().sqrt()) or 1.0
        beam, shape = operator.beam, operator.output_shape
        near = beam.source_distance / (beam.source_distance + beam.detector_distance)
        # Of a detector at the axis of rotation; parallel rays have the same size everywhere.
        self._detector = beam.detector_size * (near if math.isfinite(beam.source_distance) else 1.0)
        seen = self._detector ** len(shape[1:]) * math.prod(shape[1:])
        cells = math.prod(size * side for size, side in zip(operator.input_shape, operator.spacing, strict=True))
        self._judged_scale = math.sqrt(math.pi * seen / cells)
        self.held_out_index, self.train_index = held_out_views(operator.output_shape, held_out, generator)
        share = min(1.0, math.prod(operator.output_shape) / signal.points)
        self.observed = self.coarser(share ** (1 / signal.in_features))

    @classmethod
    def simulated(
        cls,
        truth: Signal,
        operator: BeamIntegrals,
        *,
        photons: float | None = None,
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Self:
        """The task for a known image or volume; `photons` is the number per ray without the object."""
        sinogram = operator.A(truth.values().T.reshape(1, *truth.shape))[0]
        if photons is not None:
            sinogram = TransmissionNoise(photons)(sinogram, needed(generator, "photons"))
        return cls(truth, operator, sinogram, truth=truth, held_out=held_out, generator=generator)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        """The mean squared error of the integrals, over the mean square of the rays' lengths."""
        return super().loss(field, batch) / self._length**2

    def judged(self, observation: Tensor) -> Tensor:
        """Views filtered by the root of the ramp, in units of the result: their mean square is that of the result.

        The Fourier transform of a parallel view is a line through that of the picture; where lines through the middle
        are evenly turned, a frequency w lies on them as often as 1 / |w|. So the integral of |f|^2 is that of |w| times
        a view's squared transform, over all frequencies and half a turn. Without the filter, an error that changes
        sign along rays, such as noise, is nearly left out. For fans and cones this is not exact.

        >>> import numpy as np
        >>> from staf.kinds import Grid
        >>> from staf.operators import parallel_beam
        >>> patches = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32).repeat(4, 0).repeat(4, 1)
        >>> operator = parallel_beam((32, 32), torch.arange(60) * math.pi / 60)
        >>> seen = Tomography.simulated(Grid(patches), operator).judged(operator.A(torch.from_numpy(patches))[None])
        >>> 0.8 < float(seen.square().mean()) / float(np.square(patches).mean()) < 1.1
        True
        """
        return self._judged_scale * ramp_filtered(observation, self._detector, power=0.5)

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this task to the rules of planning, by topic."""
        return TOMOGRAPHY.rules()

    def metadata(self) -> Document:
        return {**super().metadata(), "task": "tomography", "views": self.views}


def held_out_views(shape: tuple[int, ...], held_out: float, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """The flat places of the views that are held out, and of the others.

    >>> held, fitted = held_out_views((10, 3), 0.2, torch.Generator().manual_seed(0))
    >>> len(held), len(fitted)
    (6, 24)
    """
    check_share(held_out, "views")
    places = torch.arange(math.prod(shape)).reshape(shape[0], -1)
    if held_out == 0 or shape[0] < 2:
        return torch.arange(0), places.flatten()
    generator = needed(generator, "what is held out")
    count = min(shape[0] - 1, max(1, round(held_out * shape[0])))
    chosen = torch.zeros(shape[0], dtype=torch.bool)
    chosen[torch.randperm(shape[0], generator=generator)[:count]] = True
    return places[chosen].flatten(), places[~chosen].flatten()


def estimated_range(operator: BeamIntegrals, sinogram: Float[Tensor, "*out"]) -> tuple[float, float]:
    """An estimate of the range of an unknown result: from 0 to the highest value of a filtered backprojection.

    >>> from staf.operators import parallel_beam
    >>> operator = parallel_beam((16, 16), torch.arange(30) * math.pi / 30)
    >>> disc = (torch.stack(torch.meshgrid(*[torch.arange(16.0) - 7.5] * 2, indexing="ij")).norm(dim=0) < 5).float()
    >>> 0.9 < estimated_range(operator, operator.A(disc))[1] < 1.4
    True
    """
    everything = torch.ones(operator.output_shape, dtype=torch.bool)
    highest = float(filtered_backprojection(operator, sinogram[None].float(), everything).max())
    if not highest > 0:
        raise ValueError(f"sinogram must show something that attenuates, got a reconstruction of at most {highest:g}")
    return 0.0, highest
