"""How the first layer of a network follows the frequencies of a signal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from staf._documents import Document
from staf.nn.encodings import nyquist_bands


class FirstLayer:
    """A first layer whose constants do not depend on the signal; subclasses depend on it.

    Every method works for every network, so a plan does not need to know the network.

    >>> FirstLayer().for_omega0(60.0), FirstLayer().for_samples(512)
    ({}, {})
    """

    # Whether `for_omega0` sets anything, and `spread`.
    follows_omega0 = False
    spreads = False

    def for_omega0(self, omega0: float) -> Document:
        """Arguments of the factory for a signal whose first sines should have up to `omega0` radians per unit."""
        return {}

    def for_samples(self, samples: int) -> Document:
        """Arguments of the factory for an axis of so many samples."""
        return {}

    def for_waves(self, cycles: float, samples: int) -> Document:
        """Arguments of the factory for a recording: waves of up to `cycles` over its length, `samples` samples."""
        return self.for_samples(samples)

    def enlarge(self, field: nn.Module, cycles: float) -> None:
        """Make the first sines of a new network as fast as `cycles` over the length of its coordinate."""

    def slow_down(self, field: nn.Module, axis: int, ratio: float) -> None:
        """Make the first sines of a new network `ratio` times as fast along one axis of its coordinates."""

    def spread(self, field: nn.Module, lowest: float, highest: float) -> None:
        """Give the neurons of a new first layer from `lowest` to `highest` radians per unit, evenly."""

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
        spreads: whether `spread` suits it: its first sines are as fast as its weights say, and nothing else.
        growth: by how much weights must grow for sines that are `ratio` times as fast.
        addition: words on what else makes its sines faster.

    >>> SineLayer(factor=0.5).for_omega0(60.0)
    {'omega0': 30.0}
    """

    factor: float | None = 1.0
    spreads: bool = False
    growth: Callable[[float], float] = _in_proportion
    addition: str = ""

    @property
    def follows_omega0(self) -> bool:  # type: ignore[override]
        return self.factor is not None

    def for_omega0(self, omega0: float) -> Document:
        return {} if self.factor is None else {"omega0": round(omega0 * self.factor, 1)}

    def enlarge(self, field: nn.Module, cycles: float) -> None:
        arguments, first = _first_weights(field)
        with torch.no_grad():
            first.mul_(self.growth(math.pi * cycles / arguments["omega0"]))

    def slow_down(self, field: nn.Module, axis: int, ratio: float) -> None:
        _, first = _first_weights(field)
        with torch.no_grad():
            first[:, axis].mul_(self.growth(ratio))

    def spread(self, field: nn.Module, lowest: float, highest: float) -> None:
        """Rows of the first weights of evenly growing lengths.

        >>> from staf.nn.networks import NETWORKS
        >>> field = NETWORKS["siren"].factory(3, 1, width=4)
        >>> SineLayer().spread(field, 6.0, 60.0)
        >>> [round(30 * float(row.norm())) for row in field.layers[0].weight]
        [6, 24, 42, 60]
        """
        arguments, first = _first_weights(field)
        ends = (lowest / arguments["omega0"], highest / arguments["omega0"])
        lengths = torch.linspace(*ends, len(first), dtype=first.dtype, device=first.device)
        with torch.no_grad():
            first.mul_((lengths / first.norm(dim=1))[:, None])

    def waves_in_words(self, fastest: str, why: str, samples: int) -> str:
        return f"the first layer starts with sines of up to {fastest}{self.addition}, from the spectrum: {why}"


def _first_weights(field: nn.Module) -> tuple[Document, torch.Tensor]:
    """The arguments of a network and the weights of its first layer, (width, in_features)."""
    architecture: Any = field.architecture
    inputs = architecture["arguments"]["in_features"]
    return architecture["arguments"], next(p for p in field.parameters() if p.dim() == 2 and p.shape[1] == inputs)


class FrequencyBands(FirstLayer):
    """A frequency encoding: as many `bands` as the samples of the longest axis can show.

    >>> FrequencyBands().for_samples(512)
    {'bands': 7}
    """

    def for_samples(self, samples: int) -> Document:
        return {"bands": nyquist_bands(samples)}

    def waves_in_words(self, fastest: str, why: str, samples: int) -> str:
        return f"{nyquist_bands(samples)} bands for {samples:,} samples"


class GaussianFeatures(FirstLayer):
    """Gaussian features: `scale` is in cycles per unit of the coordinate, which spans half of a recording.

    >>> GaussianFeatures().for_waves(cycles=400.0, samples=8000)
    {'scale': 200.0}
    """

    def for_waves(self, cycles: float, samples: int) -> Document:
        return {"scale": cycles / 2}

    def waves_in_words(self, fastest: str, why: str, samples: int) -> str:
        return f"features of about {fastest}, from the spectrum: {why}"
