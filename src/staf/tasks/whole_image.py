"""A field on the whole grid of an image, in bounded memory, and the signal that it is there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from staf.signals.grid import Convention, axis
from staf.signals.value_transform import ValueTransform
from staf.training.task import Predict

BAND_POINTS = 2**20


def whole_image(
    predict: Predict,
    shape: tuple[int, int],
    transform: ValueTransform,
    convention: Convention = "centres",
    device: torch.device | str | None = None,
) -> Tensor:
    """Fitted numbers (h*w, c) of `predict` at every pixel, clamped to their range.

    >>> from staf.signals.value_transform import IDENTITY
    >>> whole_image(lambda x: x[:, :1], (2, 1), IDENTITY).squeeze(-1).tolist()
    [0.0, 0.5]
    """
    height, width = shape
    rows, columns = axis(height, convention).to(device), axis(width, convention).to(device)
    step = max(1, BAND_POINTS // width)
    bands = []
    for top in range(0, height, step):
        band = rows[top : top + step]
        points = torch.stack(torch.meshgrid(band, columns, indexing="ij"), dim=-1).reshape(-1, 2)
        with torch.no_grad():
            bands.append(transform.clamp(predict(points)).float())
    return torch.cat(bands)


def seen_signal(signal: Any, transform: ValueTransform, fitted: Tensor) -> Any:
    """The signal of `signal`'s kind that fitted numbers (n, c) at all its samples are; None if some are not numbers.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> from staf.signals.value_transform import IDENTITY
    >>> seen_signal(Image(np.zeros((1, 2), np.uint8)), IDENTITY, torch.tensor([[0.0], [1.0]])).array.ravel().tolist()
    [0, 255]
    """
    if not torch.isfinite(fitted).all():
        return None
    return signal.from_values(transform.values(fitted.cpu()))
