"""Super-resolution: fit what a coarse grid observes of an image, and look at the field on a finer one."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from staf._documents import Document
from staf.operators import AreaDownsampling
from staf.operators.area_downsampling import checked_factor
from staf.planning.restoration import SUPER_RESOLUTION_RULES
from staf.planning.situation import Rule
from staf.signals.base import Signal
from staf.signals.grid import Convention
from staf.tasks.held_out import held_out_metadata
from staf.tasks.inverse import InverseProblem
from staf.tasks.whole_grid import channels_of


class SuperResolution(InverseProblem):
    """Minimise |A f - y|^2 for an observed image y, where A averages f over each of y's pixels.

    A is approximated by the mean over samples x samples points of each pixel, the cell centres of a finer grid.
    `samples=1` fits the centres of pixels, as in the paper; `samples=factor` is the area downsampling of the rendered
    image. The field is rendered on a grid that is `factor` times finer, compared with `truth` if it is known, and kept
    as `reconstruction`. With the convention `centres`, all these grids are aligned; `ends` is that of the paper.
    `held_out` is the share of observed pixels that is not fitted.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> truth = Image(np.arange(64, dtype=np.uint8).reshape(8, 8))
    >>> task = SuperResolution.simulated(truth, 4, samples=4)
    >>> task.points, task.batch(None).coordinates.shape, task.signal.shape
    (4, torch.Size([16, 4, 2]), (8, 8))
    """

    def __init__(
        self,
        observed: Signal,
        factor: int,
        *,
        truth: Signal | None = None,
        samples: int = 1,
        convention: Convention = "centres",
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        self.factor = checked_factor(factor)
        if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
            raise ValueError(f"samples must be a whole number of at least 1 a side, got {samples!r}")
        self.samples = samples
        fine = tuple(size * factor for size in observed.shape)
        if truth is not None and (truth.shape != fine or truth.out_features != observed.out_features):
            raise ValueError(
                f"truth must be {_size(fine)} with {observed.out_features} channels, {factor} times what is "
                f"observed, got {_size(truth.shape)} with {truth.out_features}"
            )
        operator = AreaDownsampling(tuple(size * samples for size in observed.shape), samples)
        super().__init__(
            observed.empty(fine) if truth is None else truth,
            operator,
            channels_of(observed),
            truth=truth,
            convention=convention,
            held_out=held_out,
            generator=generator,
        )
        self.observed = observed

    @classmethod
    def simulated(
        cls,
        truth: Signal,
        factor: int,
        *,
        samples: int = 1,
        convention: Convention = "centres",
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> SuperResolution:
        """The task whose observation is the area-downsampled `truth`, in float32; `factor` must divide its sides."""
        operator = AreaDownsampling(truth.shape, factor)
        coarse = operator.A(channels_of(truth))
        observed = truth.with_floats(coarse.flatten(1).T, operator.output_shape)
        return cls(
            observed,
            factor,
            truth=truth,
            samples=samples,
            convention=convention,
            held_out=held_out,
            generator=generator,
        )

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this task to the rules of planning, by topic."""
        return SUPER_RESOLUTION_RULES

    def metadata(self) -> Document:
        return {
            "task": "super_resolution",
            "factor": self.factor,
            "samples": self.samples,
            "convention": self.convention,
            **held_out_metadata(self.held_out_index),
            "signal": self.signal.metadata(),
        }


def _size(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape)
