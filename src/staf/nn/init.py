"""Initialisation laws: of the sinusoids (amplitude, frequency, phase) and of the weights, all from a passed generator.

Every number is drawn in float64 on the generator's device and then cast, so a network starts at the same values in
every dtype and on every device. Tensors on the meta device are left alone and nothing is drawn for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from staf.nn.arguments import choose

Spread = Literal["even", "random"]
LawName = Literal["siren_start", "theorem", "released"]
WeightLawName = Literal["siren", "torch", "unit_gain"]
Place = Literal["first", "hidden", "output"]
Shape = tuple[int, ...]


def uniform(shape: Shape, low: float, high: float, generator: torch.Generator | None) -> Tensor:
    """U(low, high) in float64 on the generator's device.

    >>> uniform((2, 3), -1, 1, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 3])
    """
    device = "cpu" if generator is None else generator.device
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=device) * (high - low) + low


def normal(shape: Shape, std: float, generator: torch.Generator | None) -> Tensor:
    """N(0, std^2) in float64 on the generator's device."""
    device = "cpu" if generator is None else generator.device
    return torch.randn(shape, generator=generator, dtype=torch.float64, device=device) * std


def gamma(shape: Shape, concentration: float, rate: float, generator: torch.Generator | None) -> Tensor:
    """Gamma(concentration, rate) in float64 on the generator's device."""
    device = "cpu" if generator is None else generator.device
    alpha = torch.full(shape, concentration, dtype=torch.float64, device=device)
    return torch._standard_gamma(alpha, generator=generator) / rate


def signed_root_laplace(shape: Shape, scale: float, generator: torch.Generator | None) -> Tensor:
    """sign(l) sqrt|l| with l ~ Laplace(0, scale): the amplitudes of Theorem 3.1 when scale = 2/terms.

    Sampled from u ~ U(0,1) as sign(u - 1/2) sqrt(-scale log1p(-2|u - 1/2|)). Its absolute value is
    Rayleigh(sqrt(scale/2)), so `C sin(t + Phi)` with a uniform phase is exactly N(0, scale/2).
    """
    centred = uniform(shape, -0.5, 0.5, generator)
    tail = torch.log1p((-2 * centred.abs()).clamp(min=-1 + 2**-53))
    return centred.sign() * torch.sqrt(-scale * tail)


def fill(tensor: Tensor, draw: Callable[[], Tensor]) -> None:
    """Overwrite `tensor` with `draw()`; on the meta device nothing is drawn."""
    if tensor.is_meta:
        return
    with torch.no_grad():
        tensor.copy_(draw())


class Sinusoids(NamedTuple):
    """Amplitude C, frequency Omega and phase Phi, each of shape (terms,) or (width, terms)."""

    amplitude: Tensor
    frequency: Tensor
    phase: Tensor


@runtime_checkable
class Law(Protocol):
    """How the terms of a `SineSeries` start."""

    def __call__(self, shape: Shape, omega0: float, generator: torch.Generator | None) -> Sinusoids:
        """Draw parameters of `shape`, whose last axis is the terms."""
        ...


def _random_terms(shape: Shape, omega0: float, scale: float, generator: torch.Generator | None) -> Sinusoids:
    frequency = uniform(shape, 0, omega0, generator)
    phase = uniform(shape, -math.pi, math.pi, generator)
    return Sinusoids(signed_root_laplace(shape, scale, generator), frequency, phase)


@dataclass(frozen=True)
class Theorem:
    """The paper's Theorem 3.1: Omega ~ omega0 U(0,1), Phi ~ U(-pi,pi), C from Laplace scale 2/terms; outputs N(0,1)."""

    def __call__(self, shape: Shape, omega0: float, generator: torch.Generator | None) -> Sinusoids:
        return _random_terms(shape, omega0, 2 / shape[-1], generator)


@dataclass(frozen=True)
class Released:
    """The authors' code: `Theorem` with Laplace scale 1/(2 terms), so outputs of variance 1/4."""

    def __call__(self, shape: Shape, omega0: float, generator: torch.Generator | None) -> Sinusoids:
        return _random_terms(shape, omega0, 1 / (2 * shape[-1]), generator)


@dataclass(frozen=True)
class SirenStart:
    """Start as SIREN: term 0 is sin(omega0 x), and the others are weak.

    Term 0 has C = 1, Omega = omega0, Phi = 0. The others have C = `extra_amplitude` times the theorem's law,
    Phi ~ U(-pi,pi), and Omega = omega0 linspace(1/terms, 1, terms - 1) (`even`) or omega0 U(0,1) (`random`).

    >>> SirenStart()((5,), 30.0, None).frequency.tolist()
    [30.0, 6.0, 14.0, 22.0, 30.0]
    """

    extra_amplitude: float = 0.1
    spread: str = "even"

    def __post_init__(self) -> None:
        choose("spread", self.spread, ("even", "random"))

    def __call__(self, shape: Shape, omega0: float, generator: torch.Generator | None) -> Sinusoids:
        terms = shape[-1]
        amplitude, frequency, phase = _random_terms(shape, omega0, 2 / terms, generator)
        amplitude = amplitude * self.extra_amplitude
        # The last of the even frequencies is omega0 again, with another phase. omega0 k / terms in place of it is as
        # good: +0.4 dB at 69 dB over 25 fits, -0.05 +- 0.05 dB over 72 smaller ones
        # (docs/results/do-sines-help-evidence.md).
        if self.spread == "even" and terms > 1:
            low = 1 / terms
            steps = torch.arange(terms - 1, dtype=torch.float64, device=frequency.device)
            frequency[..., 1:] = omega0 * (low + steps * ((1 - low) / max(terms - 2, 1)))
        amplitude[..., 0], frequency[..., 0], phase[..., 0] = 1, omega0, 0
        return Sinusoids(amplitude, frequency, phase)


LAWS: dict[str, Callable[[], Law]] = {"siren_start": SirenStart, "theorem": Theorem, "released": Released}


def law_by_name(law: str | Law) -> Law:
    """The law of that name with its default constants; a law object is returned as it is."""
    if isinstance(law, str):
        return LAWS[choose("law", law, tuple(LAWS))]()
    return law


@runtime_checkable
class WeightLaw(Protocol):
    """How the weight and bias of a linear layer start, given its position and activation.

    `activation` is the one that follows the layer; for the output layer, the one before it.
    """

    def __call__(
        self, linear: nn.Linear, place: Place, activation: nn.Module, generator: torch.Generator | None
    ) -> None: ...


def fill_uniform(tensor: Tensor, bound: float | Tensor, generator: torch.Generator | None) -> None:
    """U(-bound, bound), in real and imaginary part alike where the tensor is complex."""

    def draw() -> Tensor:
        parts = (2,) if tensor.is_complex() else ()
        unit = uniform((*tensor.shape, *parts), -1, 1, generator)
        unit = torch.view_as_complex(unit) if tensor.is_complex() else unit
        return unit * (bound.to(unit.device, torch.float64) if isinstance(bound, Tensor) else bound)

    fill(tensor, draw)


def fill_torch_default(linear: nn.Linear, generator: torch.Generator | None) -> None:
    """As `nn.Linear`, with a generator: weight and bias U(-1/sqrt(in), 1/sqrt(in))."""
    bound = 1 / math.sqrt(linear.in_features)
    fill_uniform(linear.weight, bound, generator)
    fill_uniform(linear.bias, bound, generator)


@dataclass(frozen=True)
class TorchWeights:
    """`torch.nn.Linear`'s default: weight and bias U(-1/sqrt(in), 1/sqrt(in))."""

    def __call__(
        self, linear: nn.Linear, place: Place, activation: nn.Module, generator: torch.Generator | None
    ) -> None:
        fill_torch_default(linear, generator)


@dataclass(frozen=True)
class SirenWeights:
    """SIREN's: first layer U(-1/in, 1/in), others U(+-sqrt(6/in)/omega0); biases as torch.

    `omega0` is read from the activation. `first_bias` k makes the first bias U(-k, k), as FINER does.
    """

    first_bias: float | None = None

    def __call__(
        self, linear: nn.Linear, place: Place, activation: nn.Module, generator: torch.Generator | None
    ) -> None:
        fan_in = linear.in_features
        if place == "first":
            bound = 1 / fan_in
        else:
            omega0 = getattr(activation, "omega0", None)
            if not isinstance(omega0, float | int):
                raise TypeError(f"weights: SIREN's law needs an activation with omega0, got {activation!r}")
            bound = math.sqrt(6 / fan_in) / omega0
        fill_uniform(linear.weight, bound, generator)
        bias = 1 / math.sqrt(fan_in) if place != "first" or self.first_bias is None else self.first_bias
        fill_uniform(linear.bias, bias, generator)


@dataclass(frozen=True)
class UnitGainWeights:
    """Gradients of unit gain through a `SineSeries` of the theorem's law: Var W = terms / (in sum Omega^2).

    The first layer is SIREN's (coordinates have no gain to keep), the output has Var W = 1/in; biases as torch.
    """

    def __call__(
        self, linear: nn.Linear, place: Place, activation: nn.Module, generator: torch.Generator | None
    ) -> None:
        fan_in = linear.in_features
        bound: float | Tensor = 1 / fan_in
        if place == "output":
            bound = math.sqrt(3 / fan_in)
        elif place == "hidden":
            frequency = getattr(activation, "frequency", None)
            if not isinstance(frequency, Tensor):
                raise TypeError(f"weights: the unit_gain law needs a SineSeries activation, got {activation!r}")
            if not frequency.is_meta:
                mean_square = frequency.detach().double().square().mean(-1)
                bound = torch.sqrt(3 / (fan_in * mean_square))
                bound = bound[:, None] if bound.ndim else bound
        fill_uniform(linear.weight, bound, generator)
        fill_uniform(linear.bias, 1 / math.sqrt(fan_in), generator)


WEIGHT_LAWS: dict[str, Callable[[], WeightLaw]] = {
    "siren": SirenWeights,
    "torch": TorchWeights,
    "unit_gain": UnitGainWeights,
}
