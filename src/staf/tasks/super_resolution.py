"""Super-resolution: fit what a coarse grid observes of an image, and look at the field on a finer one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn

from staf.kinds import Image
from staf.operators import AreaDownsampling
from staf.operators.area_downsampling import checked_factor
from staf.planning.restoration import SUPER_RESOLUTION_RULES
from staf.planning.situation import Rule
from staf.signals.grid import Convention, axis
from staf.signals.value_transform import value_transform
from staf.tasks.image_measures import image_measures
from staf.tasks.whole_image import seen_signal, whole_image
from staf.training.history import decibels
from staf.training.task import Batch, Predict


class SuperResolution:
    """Minimise |A f - y|^2 for an observed image y, where A averages f over each of y's pixels.

    A is approximated by the mean over samples x samples points of the pixel, which are the cell centres of a grid
    that much finer: `samples=1` fits the pixel's centre, as the paper does; `samples=factor` is the area downsampling
    of the rendered image itself. The field is rendered, and measured against `truth` where that is known, on the grid
    `factor` times finer; what is measured is kept as `reconstruction`. Under `centres` all these grids agree about
    where things are; `ends` is the paper's.

    >>> import numpy as np
    >>> truth = Image(np.arange(64, dtype=np.uint8).reshape(8, 8))
    >>> task = SuperResolution.simulated(truth, 4, samples=4)
    >>> task.points, task.batch(None).coordinates.shape, task.signal.shape
    (4, torch.Size([16, 4, 2]), (8, 8))
    """

    in_features = 2

    def __init__(
        self,
        observed: Image,
        factor: int,
        *,
        truth: Image | None = None,
        samples: int = 1,
        convention: Convention = "centres",
    ) -> None:
        self.observed, self.truth, self.convention = observed, truth, convention
        self.factor = checked_factor(factor)
        if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
            raise ValueError(f"samples must be a whole number of at least 1 a side, got {samples!r}")
        self.samples = samples
        height, width = observed.shape
        fine = (height * factor, width * factor)
        if truth is None:
            self.signal: Image = Image.from_metadata({**observed.metadata(), "shape": list(fine)})
        elif truth.shape != fine or truth.out_features != observed.out_features:
            raise ValueError(
                f"truth must be {fine[0]}x{fine[1]} with {observed.out_features} channels, {factor} times what is "
                f"observed, got {truth.height}x{truth.width} with {truth.out_features}"
            )
        else:
            self.signal = truth
        self.out_features = observed.out_features
        self.transform = value_transform(self.signal)
        self.target = self.transform.fitted(observed.values())
        self.reconstruction: Image | None = None
        self.rows, self.columns = axis(height * samples, convention), axis(width * samples, convention)

    @classmethod
    def simulated(
        cls, truth: Image, factor: int, *, samples: int = 1, convention: Convention = "centres"
    ) -> SuperResolution:
        """The task whose observation is the area-downsampled `truth`, in float32; `factor` must divide its sides."""
        operator = AreaDownsampling(truth.shape, factor)
        seen = operator.A(truth.values().T.reshape(truth.out_features, *truth.shape))
        observed = Image(seen.movedim(0, -1).contiguous().numpy(), name=truth.name, profile=truth.profile)
        return cls(observed, factor, truth=truth, samples=samples, convention=convention)

    @property
    def points(self) -> int:
        return len(self.target)

    @property
    def observation(self) -> Tensor:
        return self.target.T.reshape(self.out_features, *self.observed.shape)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        """Coordinates (samples^2, n, 2): the points of each pixel lead, so that a batch can be split over pixels."""
        if index is None:
            index = torch.arange(self.points, device=self.target.device)
        within = torch.arange(self.samples, device=index.device)
        top, left = index // self.observed.width * self.samples, index % self.observed.width * self.samples
        size = (self.samples, self.samples, len(index))
        rows = self.rows[top + within[:, None]][:, None].expand(size)
        columns = self.columns[left + within[:, None]][None].expand(size)
        points = torch.stack([rows, columns], dim=-1).reshape(-1, len(index), 2)
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        return Batch(points, self.target[index], weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        error = (self._observe(field, batch.coordinates) - batch.target).square().mean(-1)
        return torch.dot(error, batch.weight.to(error.dtype))

    def _observe(self, field: Any, points: Tensor) -> Tensor:
        """The mean over the leading axis of field values at points (k, n, d): (n, c)."""
        return field(points.reshape(-1, 2)).reshape(*points.shape[:2], -1).mean(0)

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """PSNR and SSIM against the truth on the fine grid; without one, the PSNR of what would be observed."""
        if self.truth is not None:
            prediction = self.restored(predict).cpu()
            self.reconstruction = seen_signal(self.signal, self.transform, prediction)
            return image_measures(prediction, self.transform.fitted(self.truth.values()), self.truth.shape)
        squares, step = 0.0, max(1, 2**18 // self.samples**2)
        for start in range(0, self.points, step):
            index = torch.arange(start, min(start + step, self.points), device=self.target.device)
            batch = self.batch(index)
            seen = self.transform.clamp(self._observe(predict, batch.coordinates))
            squares += float((seen.double() - batch.target).square().sum())
        return {"psnr": decibels(squares / self.target.numel())}

    def psnr(self, predict: Predict) -> float:
        """PSNR against the truth alone."""
        assert self.truth is not None
        target = self.transform.fitted(self.truth.values())
        return decibels(float((self.restored(predict).cpu().double() - target).square().mean()))

    def restored(self, predict: Predict) -> Tensor:
        """The field on the fine grid, (h*w, c), clamped."""
        return whole_image(predict, self.signal.shape, self.transform, self.convention, self.target.device)

    def plan_rules(self) -> Mapping[str, Rule]:
        """What this task changes of the rules of planning, by topic."""
        return SUPER_RESOLUTION_RULES

    def metadata(self) -> dict[str, Any]:
        return {
            "task": "super_resolution",
            "factor": self.factor,
            "samples": self.samples,
            "convention": self.convention,
            "signal": self.signal.metadata(),
        }

    def to(self, device: torch.device | str) -> Self:
        self.target, self.rows, self.columns = (t.to(device) for t in (self.target, self.rows, self.columns))
        return self
