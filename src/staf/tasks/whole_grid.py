"""A field on the whole grid of a signal, in bounded memory, and the signal that it is there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from staf.signals.base import Signal
from staf.signals.grid import Convention, axis
from staf.signals.value_transform import ValueTransform
from staf.training.task import Predict

BAND_POINTS = 2**20

S = TypeVar("S", bound=Signal)


def whole_grid(
    predict: Predict,
    shape: Sequence[int],
    transform: ValueTransform,
    convention: Convention = "centres",
    device: torch.device | str | None = None,
) -> Tensor:
    """Fitted numbers (n, c) of `predict` at every sample of a grid, in C order, clamped to their range.

    >>> from staf.signals.value_transform import IDENTITY
    >>> whole_grid(lambda x: x[:, :1], (2, 1), IDENTITY).squeeze(-1).tolist()
    [0.0, 0.5]
    """
    first, *rest = (axis(size, convention).to(device) for size in shape)
    step = max(1, BAND_POINTS // math.prod(shape[1:]))
    bands = []
    for top in range(0, len(first), step):
        band = first[top : top + step]
        points = torch.stack(torch.meshgrid(band, *rest, indexing="ij"), dim=-1).reshape(-1, len(shape))
        with torch.no_grad():
            bands.append(transform.clamp(predict(points)).float())
    return torch.cat(bands)


def channels_of(signal: Signal) -> Tensor:
    """The samples of a signal as operators take them, (c, *shape), in its own units."""
    return signal.values().T.reshape(signal.out_features, *signal.shape)


def reconstructed(signal: S, transform: ValueTransform, fitted: Tensor) -> S | None:
    """The signal of `signal`'s kind whose fitted numbers are `fitted` (n, c); None if some are not numbers.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> from staf.signals.value_transform import IDENTITY
    >>> reconstructed(Image(np.zeros((1, 2), np.uint8)), IDENTITY, torch.tensor([[0.0], [1.0]])).array.ravel().tolist()
    [0, 255]
    """
    if not torch.isfinite(fitted).all():
        return None
    return signal.from_values(transform.values(fitted.cpu()))
