"""How the first layer of a network follows the frequencies of a signal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from staf.nn.encodings import nyquist_bands


class FirstLayer:
    """A first layer that has constants of its own, whatever the signal; the others follow it in one way or another.

    Every method has an answer for every network, so that a plan need not ask which network it has.

    >>> FirstLayer().for_omega0(60.0), FirstLayer().for_samples(512)
    ({}, {})
    """

    # Whether `for_omega0` sets anything.
    follows_omega0 = False

    def for_omega0(self, omega0: float) -> dict[str, Any]:
        """Arguments of the factory for a signal whose first sines should have up to `omega0` radians per unit."""
        return {}

    def for_samples(self, samples: int) -> dict[str, Any]:
        """Arguments of the factory for an axis of so many samples."""
        return {}

    def for_waves(self, cycles: float, samples: int) -> dict[str, Any]:
        """Arguments of the factory for a recording: waves of up to `cycles` over its length, `samples` samples."""
        return self.for_samples(samples)

    def enlarge(self, field: nn.Module, cycles: float) -> None:
        """Make the first sines of a new network as fast as `cycles` over the length of its coordinate."""

    def slow_down(self, field: nn.Module, axis: int, ratio: float) -> None:
        """Make the first sines of a new network `ratio` times as fast along one axis of its coordinates."""

    def waves_in_words(self, fastest: str, why: str, samples: int) -> str:
        """What `for_waves` and `enlarge` did, as a sentence; `fastest` is the frequency with its unit."""
        return "the first layer keeps its own constants"


def _in_proportion(ratio: float) -> float:
    return ratio


@dataclass(frozen=True)
class SineLayer(FirstLayer):
    """A first layer of sines, with weights of shape (width, in_features) and an argument `omega0`.

    The coordinate of a recording spans its whole length, so that the first frequencies must grow with it. A large
    omega0 would do that and multiply the steps of the first layer too, which then never settle (400 Hz over one second
    by omega0 1257 and a rate of 3e-3 ends in silence); so `enlarge` multiplies the first weights, and omega0 stays what
    the network has.

    Args:
        factor: the omega0 of this network over that of a SIREN, for the same signal; None if omega0 does not follow it.
        growth: by how much weights must grow for sines that are `ratio` times as fast.
        addition: words on what else makes its sines faster.

    >>> SineLayer(factor=0.5).for_omega0(60.0)
    {'omega0': 30.0}
    """

    factor: float | None = 1.0
    growth: Callable[[float], float] = _in_proportion
    addition: str = ""

    @property
    def follows_omega0(self) -> bool:  # type: ignore[override]
        return self.factor is not None

    def for_omega0(self, omega0: float) -> dict[str, Any]:
        return {} if self.factor is None else {"omega0": round(omega0 * self.factor, 1)}

    def enlarge(self, field: nn.Module, cycles: float) -> None:
        architecture: Any = field.architecture
        ratio = math.pi * cycles / architecture["arguments"]["omega0"]
        first = next(p for p in field.parameters() if p.dim() == 2 and p.shape[1] == 1)
        with torch.no_grad():
            first.mul_(self.growth(ratio))

    def slow_down(self, field: nn.Module, axis: int, ratio: float) -> None:
        architecture: Any = field.architecture
        inputs = architecture["arguments"]["in_features"]
        first = next(p for p in field.parameters() if p.dim() == 2 and p.shape[1] == inputs)
        with torch.no_grad():
            first[:, axis].mul_(self.growth(ratio))

    def waves_in_words(self, fastest: str, why: str, samples: int) -> str:
        return f"the first layer starts with sines of up to {fastest}{self.addition}, from the spectrum: {why}"


class FrequencyBands(FirstLayer):
    """A frequency encoding: as many `bands` as the samples of the longest axis can show.

    >>> FrequencyBands().for_samples(512)
    {'bands': 7}
    """

    def for_samples(self, samples: int) -> dict[str, Any]:
        return {"bands": nyquist_bands(samples)}

    def waves_in_words(self, fastest: str, why: str, samples: int) -> str:
        return f"{nyquist_bands(samples)} bands for {samples:,} samples"


class GaussianFeatures(FirstLayer):
    """Gaussian features: `scale` is in cycles per unit of the coordinate, which spans half of a recording.

    >>> GaussianFeatures().for_waves(cycles=400.0, samples=8000)
    {'scale': 200.0}
    """

    def for_waves(self, cycles: float, samples: int) -> dict[str, Any]:
        return {"scale": cycles / 2}

    def waves_in_words(self, fastest: str, why: str, samples: int) -> str:
        return f"features of about {fastest}, from the spectrum: {why}"
