"""How a signal's values become the numbers that a field fits, and back."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor


class Ranged(Protocol):
    """A signal with a range of values; `value_offset_scale` (offset, scale) is optional."""

    @property
    def value_range(self) -> tuple[float, float]: ...


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


def value_transform(signal: Ranged) -> ValueTransform:
    """The transform of a signal: its `value_offset_scale`, or its `value_range` brought to [0, 1].

    Audio says (0, peak), so that a waveform is fitted as it swings, around zero, with peak 1.

    >>> import numpy as np
    >>> from staf.kinds import Audio, Image
    >>> value_transform(Image(np.zeros((2, 2), np.uint8)))
    ValueTransform(offset=0.0, scale=1.0, low=0.0, high=1.0)
    >>> value_transform(Audio(np.array([0.25, -0.5], np.float32), rate=8000))
    ValueTransform(offset=0.0, scale=0.5, low=-1.0, high=1.0)
    """
    low, high = (float(end) for end in signal.value_range)
    offset, scale = getattr(signal, "value_offset_scale", (low, high - low))
    return ValueTransform(float(offset), float(scale), (low - offset) / scale, (high - offset) / scale)
