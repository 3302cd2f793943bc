"""How a signal's values become the numbers that a field fits, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

if TYPE_CHECKING:
    from staf.signals.base import Signal


class ValueTransform(NamedTuple):
    """fitted = (value - offset) / scale, with fitted numbers clamped to [low, high].

    >>> import torch
    >>> halves = ValueTransform(offset=1.0, scale=2.0, low=0.0, high=1.0)
    >>> halves.fitted(torch.tensor([1.0, 3.0])).tolist(), halves.values(torch.tensor([0.5])).tolist()
    ([0.0, 1.0], [2.0])
    """

    offset: float
    scale: float
    low: float
    high: float

    def fitted(self, values: Tensor) -> Tensor:
        """What a field fits, of values in the signal's own units."""
        return (values - self.offset) / self.scale

    def values(self, fitted: Tensor) -> Tensor:
        """Values in the signal's own units, of a field's outputs."""
        if self.offset == 0 and self.scale == 1:
            return fitted
        return self.offset + self.scale * fitted

    def clamp(self, fitted: Tensor) -> Tensor:
        """Outputs held to the range that the signal's values have."""
        return fitted.clamp(self.low, self.high)


IDENTITY = ValueTransform(0.0, 1.0, 0.0, 1.0)


def value_transform(signal: Signal) -> ValueTransform:
    """The transform of a signal, from its `value_offset_scale` and its `value_range`.

    An image's range is brought to [0, 1]; a waveform is divided by its peak, so that it is fitted around zero.

    >>> import numpy as np
    >>> from staf.kinds import Audio, Image
    >>> value_transform(Image(np.zeros((2, 2), np.uint8)))
    ValueTransform(offset=0.0, scale=1.0, low=0.0, high=1.0)
    >>> value_transform(Audio(np.array([0.25, -0.5], np.float32), rate=8000))
    ValueTransform(offset=0.0, scale=0.5, low=-1.0, high=1.0)
    """
    low, high = (float(end) for end in signal.value_range)
    offset, scale = (float(number) for number in signal.value_offset_scale)
    return ValueTransform(offset, scale, (low - offset) / scale, (high - offset) / scale)
