"""The gradient domain: a picture from its gradients or its Laplacian, and one picture cloned into another."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from staf._documents import Document
from staf._typing import Bool
from staf.operators import Composed, Gradient, Laplacian, Mask, Window
from staf.signals.base import Signal
from staf.tasks.inverse import InverseProblem
from staf.tasks.whole_grid import channels_of, whole_grid
from staf.training.task import Predict


class GradientDomain(InverseProblem):
    """Fit a field to observed differences; they do not determine the mean of each channel, which is `means`.

    Args:
        signal: the kind, grid and range of the result.
        operator: `Gradient(shape)` or `Laplacian(shape)`.
        observation: (c, *operator.output_shape), in the signal's own units per sample.
        means: of each channel of the result, in the signal's own units.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> photo = Image(np.arange(64, dtype=np.uint8).reshape(8, 8))
    >>> task = GradientDomain.of(photo, Gradient((8, 8)))
    >>> task.observation.shape
    torch.Size([1, 2, 8, 8])
    """

    def __init__(
        self,
        signal: Signal,
        operator: Gradient | Laplacian,
        observation: Tensor,
        *,
        means: Sequence[float],
        truth: Signal | None = None,
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(signal, operator, observation, truth=truth, held_out=held_out, generator=generator)
        if len(means) != signal.out_features:
            raise ValueError(f"means must hold {signal.out_features} numbers, one for each channel, got {len(means)}")
        self.means = self.transform.fitted(torch.tensor([float(mean) for mean in means]))

    @classmethod
    def of(
        cls,
        truth: Signal,
        operator: Gradient | Laplacian,
        *,
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> GradientDomain:
        """The task of a known picture, whose differences and means are taken."""
        values = channels_of(truth)
        means = values.flatten(1).mean(1).tolist()
        observation = operator.A(values)
        return cls(truth, operator, observation, means=means, truth=truth, held_out=held_out, generator=generator)

    def completed(self, values: Tensor) -> Tensor:
        """The same picture (c, *shape) with the means that are known."""
        shift = self.means.to(values) - values.flatten(1).mean(1)
        return values + shift.reshape(-1, *[1] * (values.dim() - 1))

    def predict(self, predict: Predict) -> Tensor:
        """The field on the signal's grid, (n, c), with the known means, clamped."""
        loose = self.transform._replace(low=-torch.inf, high=torch.inf)
        values = whole_grid(predict, self.signal.shape, loose, self.convention, self.target.device)
        return self.transform.clamp(self.completed(values.T).T)

    def metadata(self) -> Document:
        return {**super().metadata(), "task": "gradient_domain"}


class SeamlessCloning(InverseProblem):
    """An image with the gradients of the source in a region, and the pixels of the target around it (Poisson editing).

    The observations are the differences between neighbours of which at least one is inside, minus the contribution of
    pixels outside. So the field is fitted inside only, and matches the target at the border.

    Args:
        target: an image.
        source: another image of the same size and kind.
        inside: true in the region, which must not be the whole image.
        mixed: keep the target's difference where it is larger than the source's, for sources with holes.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> target, source = (Image(np.full((8, 8), value, np.uint8)) for value in (200, 40))
    >>> region = torch.zeros(8, 8, dtype=torch.bool)
    >>> region[2:5, 2:5] = True
    >>> SeamlessCloning(target, source, region).observation.shape
    torch.Size([1, 24])
    """

    def __init__(
        self,
        target: Signal,
        source: Signal,
        inside: Bool[Tensor, "h w"],
        *,
        mixed: bool = False,
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        if (source.shape, source.out_features) != (target.shape, target.out_features):
            raise ValueError(
                f"source must have the target's shape {target.shape} and {target.out_features} channels, got "
                f"{source.shape} and {source.out_features}"
            )
        if tuple(inside.shape) != target.shape or not inside.any() or inside.all():
            raise ValueError(f"inside must be true for some of the {target.shape} pixels, and not for all")
        around, within = channels_of(target), channels_of(source)
        gradient = Gradient(target.shape)
        edges = touching(inside)
        wanted = gradient.A(within)
        if mixed:
            own = gradient.A(around)
            wanted = torch.where(own.abs() > wanted.abs(), own, wanted)
        observation = Mask(edges).A(wanted - gradient.A(around * ~inside))
        operator = Composed(Window(inside), gradient, Mask(edges))
        super().__init__(target.empty(), operator, observation, held_out=held_out, generator=generator)
        self.inside, self.around = inside, self.transform.fitted(around)

    def completed(self, values: Tensor) -> Tensor:
        """The picture (c, h, w) with the target's pixels outside."""
        return torch.where(self.inside.to(values.device), values, self.around.to(values))

    def predict(self, predict: Predict) -> Tensor:
        """The field inside and the target outside, (n, c), clamped."""
        values = super().predict(predict)
        return self.completed(values.T.reshape(-1, *self.signal.shape)).flatten(1).T

    def metadata(self) -> Document:
        return {**super().metadata(), "task": "seamless_cloning"}


def touching(inside: Bool[Tensor, "*shape"]) -> Bool[Tensor, "d ..."]:
    """Which differences of `Gradient` have an end inside.

    >>> touching(torch.tensor([False, False, True, False])).tolist()
    [[False, True, True, False]]
    """
    edges = []
    for axis in range(inside.dim()):
        size = inside.shape[axis]
        here, beyond = inside.narrow(axis, 0, size - 1), inside.narrow(axis, 1, size - 1)
        last = torch.zeros_like(inside.narrow(axis, 0, 1))
        edges.append(torch.cat([here | beyond, last], axis))
    return torch.stack(edges)
