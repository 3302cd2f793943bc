"""The multilayer perceptron that most networks of the library are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from staf import ops
from staf._documents import Document
from staf._typing import Float
from staf.nn.activations import Finer, Gauss, Sine
from staf.nn.arguments import Depth, Size, check
from staf.nn.hooks import has_hooks
from staf.nn.init import TorchWeights, WeightLaw
from staf.nn.linear import CoordinateLinear, Linear, check_coordinates
from staf.nn.sine_series import SineSeries
from staf.ops.backend import fused_allowed
from staf.ops.sine_network import is_fixed_fused, is_fused, single_sine

# Activations that a network of one operation may have besides sines, and the attribute that holds their constant.
FIXED = {Finer: (ops.finer, "omega0"), Gauss: (ops.gauss, "sigma")}


class CoordinateMLP(nn.Module):
    """Coordinates (n, d) to values (n, c): `depth` activated layers of `width`, then a linear output.

    With `skip`, hidden layers compute z = rho(a) + a (every activated layer but the first).
    The first layer, on coordinates, is computed in the weights' own precision even under autocast or tf32.

    Args:
        activation: a factory that is called once for each layer. To share an activation between layers, return the same
            module each time.
        first_activation: the factory for the first layer, if it differs.
        encoding: a module with `out_features`, applied to the coordinates first.
        output_activation: applied to the linear output; none by default.
        weights: a weight law of `staf.nn.init`; by default that of `nn.Linear`.

    >>> from staf.nn import CoordinateMLP, SineSeries
    >>> field = CoordinateMLP(2, 3, width=32, depth=3, activation=SineSeries)
    >>> field(torch.zeros(10, 2)).shape
    torch.Size([10, 3])
    """

    architecture: Document

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        width: int = 256,
        depth: int = 4,
        activation: Callable[[], nn.Module],
        first_activation: Callable[[], nn.Module] | None = None,
        encoding: nn.Module | None = None,
        skip: bool = False,
        output_activation: nn.Module | None = None,
        weights: WeightLaw | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features: int = check("in_features", in_features, Size)
        self.out_features: int = check("out_features", out_features, Size)
        width, depth = check("width", width, Size), check("depth", depth, Depth)
        self.skip = skip
        self.encoding = encoding if encoding is None else encoding.to(device=device, dtype=dtype)

        makers = [first_activation or activation] + [activation] * (depth - 1)
        chosen = [make().to(device=device, dtype=dtype) for make in makers]
        # A shared module is held once: state_dict would repeat its tensors otherwise.
        unique = list(dict.fromkeys(chosen))
        self.activations = nn.ModuleList(unique)
        self._order = [unique.index(module) for module in chosen]

        inputs: int = self.in_features if encoding is None else check("encoding.out_features", _width(encoding), Size)
        first = Linear if encoding is not None else CoordinateLinear
        layers = [first(inputs, width, device=device, dtype=dtype)]
        layers += [Linear(width, width, device=device, dtype=dtype) for _ in range(depth - 1)]
        self.layers = nn.ModuleList(layers)
        self.output = Linear(width, self.out_features, device=device, dtype=dtype)
        self.output_activation = output_activation

        law = weights or TorchWeights()
        for index, (linear, module) in enumerate(zip(layers, chosen, strict=True)):
            law(linear, "first" if index == 0 else "hidden", module, generator)
        law(self.output, "output", chosen[-1], generator)

    def hidden_matrices(self) -> list[Tensor]:
        """The weights between activated layers: the ones Muon may train."""
        return [layer.weight for layer in list(self.layers)[1:]]  # type: ignore[misc]

    def activation(self, layer: int) -> nn.Module:
        """The activation of a layer, counted from 0."""
        return self.activations[self._order[layer]]

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        """Values at the coordinates."""
        check_coordinates(coordinates, self.in_features)
        fused = self._fused(coordinates)
        if fused is not None:
            return fused
        z = coordinates if self.encoding is None else self.encoding(coordinates)
        for index, layer in enumerate(self.layers):
            if self.skip and index > 0:
                a = layer(z)
                z = self.activation(index)(a) + a
            else:
                z = activated(layer, self.activation(index), z)
        values: Tensor = self.output(z)
        return values if self.output_activation is None else cast(Tensor, self.output_activation(values))

    def _fused(self, coordinates: Tensor) -> Tensor | None:
        """The values as one operation, where a GPU gains by it; None elsewhere."""
        if not coordinates.is_cuda:
            return None
        sines = self.sine_layers(coordinates)
        weight, bias = cast("tuple[Tensor, Tensor]", (self.output.weight, self.output.bias))
        if sines is not None and is_fused(coordinates, sines, weight, bias):
            return ops.sine_network(coordinates, sines, weight, bias)
        kinds = {type(module) for module in self.activations}
        layers = self._plain_layers(coordinates) if kinds in ({Finer}, {Gauss}) else None
        if layers is None:
            return None
        activation, name = FIXED[kinds.pop()]
        constants = [cast(float, getattr(self.activation(index), name)) for index in range(len(layers))]
        arguments = (coordinates, layers, weight, bias, activation, constants)
        return ops.fixed_network(*arguments) if is_fixed_fused(*arguments) else None

    def sine_layers(self, coordinates: Tensor) -> list[ops.SineLayer] | None:
        """Weights, biases and sinusoids of all layers; None if a GPU does not gain by computing them as one operation,
        or if a module has hooks.
        """
        if not {type(module) for module in self.activations} <= {SineSeries, Sine}:
            return None
        layers = self._plain_layers(coordinates)
        if layers is None:
            return None
        return [(*pair, *_sinusoids(self.activation(index), pair[0].device)) for index, pair in enumerate(layers)]

    def _plain_layers(self, coordinates: Tensor) -> list[tuple[Tensor, Tensor]] | None:
        """Weights and biases of all activated layers, if there is nothing else between the activations."""
        if not coordinates.is_cuda or not fused_allowed() or self.skip or self.encoding is not None:
            return None
        if (
            self.output_activation is not None
            or type(self.output) is not Linear
            or any(type(layer) not in (CoordinateLinear, Linear) for layer in self.layers)
            or has_hooks(self.output, *self.layers, *self.activations)
        ):
            return None
        return [cast("tuple[Tensor, Tensor]", (layer.weight, layer.bias)) for layer in self.layers]


def _sinusoids(module: nn.Module, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """A layer's series; SIREN's sine is one of a single term."""
    if isinstance(module, SineSeries):
        return module.sinusoids
    return single_sine(cast(float, module.omega0), device)


def activated(layer: nn.Module, activation: nn.Module, z: Tensor) -> Tensor:
    """activation(layer(z)), as one operation if that is faster on a GPU and neither module has hooks."""
    if (
        z.is_cuda
        and fused_allowed()
        and type(activation) is SineSeries
        and type(layer) in (CoordinateLinear, Linear)
        and z.dtype == layer.weight.dtype
        and not has_hooks(layer, activation)
    ):
        c, omega, phi = activation.sinusoids
        weight, bias = cast("tuple[Tensor, Tensor]", (layer.weight, layer.bias))
        return ops.sine_layer(z, weight, bias, c, omega, phi)
    return cast(Tensor, activation(layer(z)))


def _width(encoding: nn.Module) -> object:
    width = getattr(encoding, "out_features", None)
    if width is None:
        raise TypeError(f"encoding must have out_features, got {encoding!r}")
    return width
