"""A network of sine-series layers as plain float64 tensors, which is what the theory works on.

>>> from staf.nn import CoordinateMLP, SineSeries
>>> network = read_network(CoordinateMLP(2, 3, width=8, depth=2, activation=lambda: SineSeries(terms=5)))
>>> len(network.layers), network.layers[1].frequency.shape, network.skips
(2, torch.Size([8, 5]), (False, False))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from staf.nn import CoordinateMLP, Sine, SineSeries


class Layer(NamedTuple):
    """z = sum_m C_m sin(Omega_m (W x + B) + Phi_m): weight (F, in), bias (F,), the three others (F, terms).

    Parameters shared by the layer are expanded, so that one formula serves layer-shared, per-neuron and network-wide
    sinusoids.
    """

    weight: Tensor
    bias: Tensor
    amplitude: Tensor
    frequency: Tensor
    phase: Tensor

    @property
    def shared(self) -> bool:
        """Whether every neuron of the layer has the same sinusoids."""
        return all(bool((t == t[:1]).all()) for t in (self.amplitude, self.frequency, self.phase))


@dataclass(frozen=True)
class Network:
    """The layers; the linear output (weight, bias), or None where the last layer is activated; and where skips are."""

    layers: tuple[Layer, ...]
    output: tuple[Tensor, Tensor] | None
    skips: tuple[bool, ...]
    encoding: nn.Module | None


def read_network(field: nn.Module) -> Network:
    """Read a `CoordinateMLP`, or a `Sequential` of alternating `Linear` and activation, of sine or sine-series layers.

    A `Sequential` may end with an activation (an activated output) or with a `Linear`.
    """
    if isinstance(field, CoordinateMLP):
        if field.output_activation is not None:
            raise TypeError(f"field must have a linear output, got {field.output_activation!r} after it")
        modules = [m for i, linear in enumerate(field.layers) for m in (linear, field.activation(i))]
        skips = tuple(field.skip and i > 0 for i in range(len(field.layers)))
        return Network(_layers(modules), _linear(field.output), skips, field.encoding)
    if isinstance(field, nn.Sequential):
        modules = list(field)
        output = _linear(modules.pop()) if modules and len(modules) % 2 == 1 else None
        layers = _layers(modules)
        return Network(layers, output, (False,) * len(layers), None)
    inside = ": pass its module" if isinstance(getattr(field, "module", None), nn.Module) else ""
    raise TypeError(
        "field must be a CoordinateMLP, or a Sequential of Linear and SineSeries or Sine, got "
        f"{type(field).__name__}{inside}"
    )


def linear_modules(field: nn.Module) -> list[nn.Module]:
    """The linear layers of a `CoordinateMLP` or `Sequential` in the order of use, whatever the activations.

    >>> from staf.nn import finer
    >>> len(linear_modules(finer(2, 3, width=8, depth=3)))
    4
    """
    if isinstance(field, CoordinateMLP):
        return [*field.layers, field.output]
    if isinstance(field, nn.Sequential):
        return [module for module in field if isinstance(module, nn.Linear)]
    raise TypeError(f"field must be a CoordinateMLP or a Sequential, got {type(field).__name__}")


def _layers(modules: list[nn.Module]) -> tuple[Layer, ...]:
    if len(modules) < 2:
        raise ValueError("field must have at least one linear layer followed by an activation, got none")
    pairs = zip(modules[::2], modules[1::2], strict=True)
    return tuple(Layer(*(linear := _linear(a)), *_sinusoids(b, len(linear[1]))) for a, b in pairs)


def _linear(module: nn.Module) -> tuple[Tensor, Tensor]:
    if not isinstance(module, nn.Linear) or module.weight.is_complex():
        raise TypeError(f"field must alternate real linear layers and activations, got {type(module).__name__}")
    weight = module.weight.detach().to("cpu", torch.float64)
    bias = weight.new_zeros(len(weight)) if module.bias is None else module.bias.detach().to("cpu", torch.float64)
    return weight, bias


def _sinusoids(module: nn.Module, width: int) -> tuple[Tensor, Tensor, Tensor]:
    if isinstance(module, Sine):
        one = torch.ones(width, 1, dtype=torch.float64)
        return one, module.omega0 * one, 0 * one
    if isinstance(module, SineSeries):
        parts = (t.detach().to("cpu", torch.float64) for t in module.sinusoids)
        amplitude, frequency, phase = (t.expand(width, -1) if t.ndim == 1 else t for t in parts)
        return amplitude, frequency, phase
    raise TypeError(f"field must have SineSeries or Sine activations, got {type(module).__name__}")
