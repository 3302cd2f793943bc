"""Reconstruction with a perceptual distance in the loss: the trade-off between fidelity and likeness."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

from staf.metrics import LPIPS
from staf.signals.base import Signal
from staf.signals.grid import Convention
from staf.tasks.reconstruction import Reconstruction
from staf.training.task import Batch


class PerceptualReconstruction(Reconstruction):
    """Minimise MSE + weight LPIPS of a whole image; every step sees the whole image.

    LPIPS compares the rendered image with the target; `model` has its weights (`staf.metrics.load_lpips()`).

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> from staf.metrics.lpips import LPIPS, SHAPES
    >>> model = LPIPS({name: torch.rand(shape) / 1000 for name, shape in SHAPES.items()})
    >>> task = PerceptualReconstruction(Image(np.zeros((32, 40, 3), np.uint8)), model, weight=0.1)
    >>> task.loss(lambda x: torch.zeros(len(x), 3), task.batch(None)).item()
    0.0
    """

    whole = True

    def __init__(self, signal: Signal, model: LPIPS, weight: float, convention: Convention = "centres") -> None:
        super().__init__(signal, convention)
        if signal.in_features != 2 or signal.out_features not in (1, 3):
            raise ValueError(
                "signal must be an image of 1 or 3 channels, which LPIPS compares, got "
                f"{signal.in_features} coordinates and {signal.out_features} channels"
            )
        if not weight > 0:
            raise ValueError(f"weight must be positive, got {weight}; without LPIPS the task is Reconstruction")
        self.model, self.weight = model, float(weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        if len(batch.target) != self.points:
            raise ValueError(
                f"a step must see all {self.points:,} pixels, because LPIPS compares whole images; got "
                f"{len(batch.target):,}: use a recipe with batch=None, and a smaller image if memory runs out"
            )
        values = field(batch.coordinates)
        error = ((values - batch.target).square().mean(-1) * batch.weight).sum()
        pair = [self._image(one) for one in (values, batch.target)]
        return error + self.weight * self.model(*pair)[0]

    def _image(self, values: Tensor) -> Tensor:
        """(1, 3, h, w) in [-1, 1]; values outside [0, 1] are left as they are, so that their gradient is not lost."""
        channels = values.float().T.reshape(1, self.out_features, *self.signal.shape)
        return (2 * channels - 1).expand(-1, 3, -1, -1)

    def to(self, device: torch.device | str) -> Self:
        self.model = self.model.to(device)
        return super().to(device)
