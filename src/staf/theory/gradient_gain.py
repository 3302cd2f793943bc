"""What each layer does to the size of gradients, predicted and measured, and the weight law that keeps it at one.

The initialisation of Theorem 3.1 normalises activations, not gradients. Through z_l = rho(W z_{l-1} + B) the gradient
is multiplied by W^T diag(rho'), whose rms gain is sqrt(F_l Var(W) E[rho'^2]). Over initialisations E[rho'^2] =
(1/tau) sum Omega^2, about w0^2/3, and `nn.Linear`'s default has Var W = 1/(3 F): the gain is w0/3 per layer, 10 at
w0 = 30. SIREN's weights have gain 1.

>>> default_gain(30.0)
10.0
>>> round(float(unit_gain_variance(torch.tensor([10.0, 20.0, 30.0]), fan_in=256)) * 256, 8)
0.00214286
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.theory.checks import finite, finite_tensor, whole
from staf.theory.layers import Layer, linear_modules, read_network


class Gain(NamedTuple):
    """Gain of one layer: how many times larger its input's gradient is than its output's, in rms."""

    layer: int
    predicted: float
    measured: float


def default_gain(omega0: float) -> float:
    """w0/3: expected rms gain of a layer of Theorem 3.1 with `nn.Linear`'s default weights."""
    return float(finite("omega0", omega0)) / 3


def unit_gain_variance(frequency: Float[Tensor, "*width terms"], fan_in: int) -> Tensor:
    """Var W = tau / (n sum Omega^2), for which the expected gain of a layer of Theorem 3.1 is one; n the width."""
    whole("fan_in", fan_in, 1)
    power = finite_tensor("frequency", frequency).square().mean(-1)
    if not bool((power > 0).all()):
        raise ValueError("frequency must have an entry other than 0 for each neuron: without one there is no gradient")
    return (1 / (fan_in * power)).to(frequency.dtype)


def predicted_gain(layer: Layer, *, skip: bool = False) -> float:
    """sqrt(F E[W^2] E[rho'^2]), E[rho'^2] = (1/2) sum C^2 Omega^2 for well-spread pre-activations; + 1 with a skip."""
    slope = (layer.amplitude * layer.frequency).square().sum(1) / 2 + (1.0 if skip else 0.0)
    return math.sqrt(float((layer.weight.square().mean(1) * slope).sum()))


def gradient_gains(
    field: nn.Module, coordinates: Float[Tensor, "n d"], generator: torch.Generator | None = None
) -> list[Gain]:
    """Predicted and measured gain of every activated layer but the first (whose input is the coordinates).

    Measured: a standard normal gradient is put on the output and propagated; the gain of layer l is the rms of the
    gradient at its input over that at its output, over all neurons and points.

    >>> from staf.nn import siren
    >>> g = torch.Generator().manual_seed(0)
    >>> x = 2 * torch.rand(200, 2, generator=g) - 1
    >>> [round(gain.measured, 1) for gain in gradient_gains(siren(2, 3, width=128, generator=g), x, g)]
    [1.0, 1.0, 1.0]
    """
    network = read_network(field)
    if network.output is None:
        raise ValueError("field must end with a linear output, got an activated one")
    if len(network.layers) < 2:
        raise ValueError(
            "field must have at least two activated layers: the first one's input is the coordinates; got 1"
        )
    for name, tensor in (("coordinates", coordinates), *field.named_parameters()):
        finite_tensor(name, tensor)
    inputs: list[Tensor] = []

    def keep(module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        if arguments[0].requires_grad:
            arguments[0].retain_grad()
        inputs.append(arguments[0])

    hooks = [linear.register_forward_pre_hook(keep) for linear in linear_modules(field)]
    try:
        output = field(coordinates)
    finally:
        for hook in hooks:
            hook.remove()
    device = "cpu" if generator is None else generator.device
    cotangent = torch.randn(output.shape, generator=generator, device=device).to(output)
    gradients = torch.autograd.grad(output, inputs[1:], cotangent)
    sizes = [float(g.double().square().mean().sqrt()) for g in gradients]
    predicted = [predicted_gain(layer, skip=skip) for layer, skip in zip(network.layers, network.skips, strict=True)]
    return [Gain(i + 1, predicted[i + 1], sizes[i] / sizes[i + 1]) for i in range(len(sizes) - 1)]
