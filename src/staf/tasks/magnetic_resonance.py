"""Accelerated magnetic resonance: a picture from some of its Fourier coefficients, as several coils see them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from staf._documents import Document
from staf._typing import Complex, Float
from staf.operators import MaskedFourier
from staf.planning.restoration import MAGNETIC_RESONANCE
from staf.planning.situation import Rule
from staf.signals.base import Signal
from staf.tasks.held_out import check_share, needed
from staf.tasks.inverse import InverseProblem
from staf.tasks.whole_grid import channels_of

# Frequencies up to this share of the highest one are always fitted: a few of them hold most of the energy.
CENTRE = 0.1


class MagneticResonance(InverseProblem):
    """An inverse problem of masked Fourier transforms; the image is real, and its phase is part of the sensitivities.

    Held-out frequencies are held out for all coils; none of them is in the middle.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> from staf.operators import cartesian_mask
    >>> photo = Image(np.arange(256, dtype=np.uint8).reshape(16, 16))
    >>> draw = torch.Generator().manual_seed(0)
    >>> operator = MaskedFourier(cartesian_mask((16, 16), 2, generator=draw))
    >>> task = MagneticResonance.simulated(photo, operator, held_out=0.1, generator=draw)
    >>> task.observation.shape, len(task.held_out_index)
    (torch.Size([1, 1, 128, 2]), 26)
    """

    samples = 1

    def __init__(
        self,
        signal: Signal,
        operator: MaskedFourier,
        observation: Float[Tensor, "c coils n 2"],
        *,
        truth: Signal | None = None,
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(signal, operator, observation, truth=truth)
        self.held_out_index, self.train_index = held_out_frequencies(operator, held_out, generator)
        self.observed = self.coarser(math.sqrt(min(1.0, operator.coils * len(operator.index) / signal.points)))

    @classmethod
    def simulated(
        cls,
        truth: Signal,
        operator: MaskedFourier,
        *,
        noise: float = 0.0,
        held_out: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> MagneticResonance:
        """The task of a known picture; `noise` is the standard deviation of each part, as a share of the range."""
        seen = operator.A(channels_of(truth))
        if noise:
            low, high = truth.value_range
            seen = seen + noise * (high - low) * torch.randn(seen.shape, generator=needed(generator, "noise"))
        return cls(truth, operator, seen, truth=truth, held_out=held_out, generator=generator)

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this task to the rules of planning, by topic."""
        return MAGNETIC_RESONANCE.rules()

    def metadata(self) -> Document:
        return {**super().metadata(), "task": "magnetic_resonance"}


def held_out_frequencies(
    operator: MaskedFourier, held_out: float, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """The flat places of an observation (coils, n, 2) that are held out, and the others."""
    check_share(held_out, "frequencies")
    places = torch.arange(math.prod(operator.output_shape)).reshape(operator.output_shape)
    if held_out == 0:
        return torch.arange(0), places.flatten()
    generator = needed(generator, "what is held out")
    axes = [(torch.arange(n) - n // 2) / max(1, n / 2) for n in operator.input_shape]
    radius = torch.stack(torch.meshgrid(*axes, indexing="ij")).square().sum(0).sqrt().flatten()
    outer = (radius[operator.index.cpu()] > CENTRE).nonzero().squeeze(-1)
    count = min(len(outer), max(1, round(held_out * len(operator.index))))
    chosen = torch.zeros(len(operator.index), dtype=torch.bool)
    chosen[outer[torch.randperm(len(outer), generator=generator)[:count]]] = True
    return places[:, chosen].flatten(), places[:, ~chosen].flatten()


def coil_sensitivities(shape: tuple[int, int], coils: int) -> Complex[Tensor, "coils h w"]:
    """Smooth sensitivities of coils around a picture, each with a phase of its own; their squares add up to 1.

    >>> seen = coil_sensitivities((8, 8), 4)
    >>> bool(torch.allclose(seen.abs().square().sum(0), torch.ones(8, 8)))
    True
    """
    if coils < 1:
        raise ValueError(f"coils must be at least 1, got {coils}")
    y, x = torch.meshgrid(*(torch.linspace(-1, 1, size) for size in shape), indexing="ij")
    around = 2 * math.pi * torch.arange(coils) / coils
    apart = (y - 1.2 * around.sin()[:, None, None]) ** 2 + (x - 1.2 * around.cos()[:, None, None]) ** 2
    phase = around[:, None, None] + 0.5 * (y * around.cos()[:, None, None] + x * around.sin()[:, None, None])
    seen = torch.polar(torch.exp(-apart / 2), phase)
    return seen / seen.abs().square().sum(0).sqrt()


def with_phase(
    kspace: Complex[Tensor, "coils h w"], sensitivities: Complex[Tensor, "coils h w"] | None
) -> Complex[Tensor, "coils h w"]:
    """The sensitivities times the phase of the smooth part of the picture, so that the picture itself is real.

    The phase is taken from the frequencies of the middle, under a Hann window.
    """
    coils, *shape = kspace.shape
    seen = torch.ones(coils, *shape, dtype=kspace.dtype) if sensitivities is None else sensitivities
    axes = [((torch.arange(n) - n // 2) / (0.25 * n)).clamp(-1, 1) for n in shape]
    window = torch.ones(())
    for axis in axes:
        window = window[..., None] * (0.5 + 0.5 * torch.cos(math.pi * axis))
    centred = torch.fft.ifftshift(kspace * window, dim=(-2, -1))
    smooth = torch.fft.fftshift(torch.fft.ifftn(centred, dim=(-2, -1), norm="ortho"), dim=(-2, -1))
    combined = (smooth * seen.conj()).sum(0)
    return seen * torch.polar(torch.ones(combined.shape), combined.angle())


def estimated_range(operator: MaskedFourier, observation: Float[Tensor, "1 coils n 2"]) -> tuple[float, float]:
    """An estimate of the range of an unknown image: from 0 to 1.2 times the highest value of the zero-filled image."""
    highest = float(operator.A_adjoint(observation).max())
    if not highest > 0:
        raise ValueError(f"kspace must hold a picture, got a zero-filled one of at most {highest:g}")
    return 0.0, 1.2 * highest
