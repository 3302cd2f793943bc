"""Photon noise: what a sensor counts in little light."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PhotonNoise:
    """y = (Poisson(count x) + readout n) / count, with n ~ N(0, 1).

    `count` is the mean number of photons at value 1; `readout` is the standard deviation of the readout noise, in
    photons. The mean of y is x and its variance x / count + (readout / count)^2; y is not clipped. The paper
    uses count 10; the released code also adds readout 2.

    >>> light = torch.full((1000,), 0.5)
    >>> noisy = PhotonNoise(10)(light, torch.Generator().manual_seed(0))
    >>> bool((noisy * 10 == (noisy * 10).round()).all()), abs(noisy.mean().item() - 0.5) < 0.03
    (True, True)
    """

    count: float
    readout: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.count) and self.count > 0):
            raise ValueError(f"count must be a positive number of photons, got {self.count}")
        if not (math.isfinite(self.readout) and self.readout >= 0):
            raise ValueError(f"readout must be a number of photons, not negative, got {self.readout}")

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """A noisy observation of x, drawn from `generator`, which lives on x's device."""
        if not (x >= 0).all():
            raise ValueError(f"x must not be negative, because photons are counted, got a least value {x.min():g}")
        counted = torch.poisson(x * self.count, generator=generator)
        if self.readout:
            counted += self.readout * torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)
        return counted / self.count

    def variance(self, x: Tensor) -> Tensor:
        """The variance of each observation, given what is observed."""
        return x / self.count + (self.readout / self.count) ** 2


@dataclass(frozen=True)
class TransmissionNoise:
    """y = -log(max(Poisson(count exp(-x)), 1) / count): line integrals x, measured with `count` photons.

    `count` is the mean number of photons of a ray without the object. A ray without any photon counts as one photon.

    >>> noisy = TransmissionNoise(1e4)(torch.full((1000,), 2.0), torch.Generator().manual_seed(0))
    >>> abs(noisy.mean().item() - 2.0) < 0.01, 0.02 < noisy.std().item() < 0.035
    (True, True)
    """

    count: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.count) and self.count > 0):
            raise ValueError(f"count must be a positive number of photons, got {self.count}")

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """A noisy observation of the integrals x, drawn from `generator`, which lives on x's device."""
        counted = torch.poisson(self.count * torch.exp(-x), generator=generator)
        return -(counted.clamp(min=1) / self.count).log()
