"""Small networks of any activation of the family, as parts of larger ones: decoders of grids, density and colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf.nn.activations import Finer, Gauss, Sine
from staf.nn.architecture import Runtime
from staf.nn.arguments import choose, refuse_unused
from staf.nn.coordinate_mlp import CoordinateMLP, activated
from staf.nn.gabor_network import Wire
from staf.nn.hooks import has_hooks
from staf.nn.init import SirenWeights, TorchWeights, WeightLaw
from staf.nn.linear import MOST_COORDINATES
from staf.nn.sine_series import SineSeries
from staf.ops.linear import linear
from staf.ops.sine_network import is_fused, sine_network

ActivationName = Literal["staf", "siren", "finer", "wire", "gauss", "relu"]
OMEGA0, SIGMA, TERMS, FIRST_BIAS = 30.0, 10.0, 5, 5.0
Make = Callable[[float], nn.Module]
# Rows of multiples of this many numbers are multiplied several times faster on a GPU.
ALIGNED = 16


@dataclass(frozen=True)
class Family:
    """The layers of one activation.

    Args:
        activation: which one: `staf`, `siren`, `finer`, `wire`, `gauss` or `relu`.
        omega0: frequency of the first layer: `staf`, `siren`, `finer`, `wire`.
        hidden_omega0: of the other layers; as `omega0` if not given.
        sigma: of `gauss` and `wire`.
        terms: sinusoids of `staf`.
        first_bias: of `finer`: the first bias is U(-first_bias, first_bias); None: as that of the other layers.

    >>> Family("staf", omega0=40.0).network(3, 4, width=16, depth=2)(torch.zeros(5, 3)).shape
    torch.Size([5, 4])
    """

    activation: str
    omega0: float = OMEGA0
    hidden_omega0: float | None = None
    sigma: float = SIGMA
    terms: int = TERMS
    first_bias: float | None = FIRST_BIAS

    def __post_init__(self) -> None:
        choose("activation", self.activation, get_args(ActivationName))
        why = f"with activation={self.activation!r}"
        if self.activation in ("gauss", "relu"):
            refuse_unused(why, omega0=(self.omega0, OMEGA0), hidden_omega0=(self.hidden_omega0, None))
        if self.activation not in ("gauss", "wire"):
            refuse_unused(why, sigma=(self.sigma, SIGMA))
        if self.activation != "staf":
            refuse_unused(why, terms=(self.terms, TERMS))
        if self.activation != "finer":
            refuse_unused(why, first_bias=(self.first_bias, FIRST_BIAS))

    def network(
        self,
        in_features: int,
        out_features: int,
        *,
        width: int,
        depth: int,
        encoding: nn.Module | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> nn.Module:
        """`depth` activated layers of `width`, then a linear output; `wire` has floor(width / sqrt 2) complex ones."""
        runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
        hidden = self.omega0 if self.hidden_omega0 is None else self.hidden_omega0
        if self.activation == "wire":
            inputs = in_features if encoding is None else int(encoding.out_features)  # type: ignore[arg-type]
            complex_width = max(1, int(width / math.sqrt(2)))
            wire = Wire(
                inputs,
                out_features,
                width=complex_width,
                depth=depth,
                omega0=self.omega0,
                hidden_omega0=hidden,
                sigma0=self.sigma,
                **runtime,
            )
            return wire if encoding is None else nn.Sequential(encoding, wire)
        make, weights = self._layers(runtime)
        return CoordinateMLP(
            in_features,
            out_features,
            width=width,
            depth=depth,
            activation=partial(make, hidden),
            first_activation=partial(make, self.omega0),
            encoding=encoding,
            weights=weights,
            **runtime,
        )

    def _layers(self, runtime: Runtime) -> tuple[Make, WeightLaw]:
        """A function from omega0 to the activation of a layer, and the law of the weights."""
        table: dict[str, tuple[Make, WeightLaw]] = {
            "staf": (lambda omega0: SineSeries(self.terms, omega0, **runtime), SirenWeights()),
            "siren": (Sine, SirenWeights()),
            "finer": (Finer, SirenWeights(first_bias=self.first_bias)),
            "gauss": (lambda _: Gauss(self.sigma), TorchWeights()),
            "relu": (lambda _: nn.ReLU(), TorchWeights()),
        }
        return table[self.activation]


def in_parts(
    network: nn.Module, inputs: Sequence[Tensor], sizes: Sequence[int], *, wanted: int | None = None
) -> list[Tensor]:
    """`network(cat(inputs)).split(sizes)[:wanted]`, computed so that no product has sides that GPUs are slow with.

    >>> field = Family("siren").network(5, 7, width=8, depth=2)
    >>> x, y = torch.rand(2, 3), torch.rand(2, 2)
    >>> [part.shape[1] for part in in_parts(field, (x, y), (1, 6))]
    [1, 6]
    """
    wavelets = _wavelet_parts(network, inputs, sizes, wanted)
    if wavelets is not None:
        return wavelets
    aligned = (
        inputs[0].is_cuda
        and isinstance(network, CoordinateMLP)
        and not network.skip
        and network.output_activation is None
        and not has_hooks(*network.modules())
    )
    if not aligned:
        whole = inputs[0] if len(inputs) == 1 else torch.cat(list(inputs), -1)
        return list(network(whole).split(list(sizes), -1))[:wanted]
    assert isinstance(network, CoordinateMLP)
    return _aligned_parts(network, inputs, sizes, wanted)


def _aligned_parts(
    network: CoordinateMLP, inputs: Sequence[Tensor], sizes: Sequence[int], wanted: int | None
) -> list[Tensor]:
    """`in_parts` with several inputs filled up with zeros, and an output for each part."""
    weights, biases = network.output.weight.split(list(sizes)), network.output.bias.split(list(sizes))
    # One part of few outputs, such as density alone, is what the fused kernels compute.
    layers = network.sine_layers(inputs[0]) if wanted == len(inputs) == 1 else None
    if layers is not None and is_fused(inputs[0], layers, weights[0], biases[0]):
        return [sine_network(inputs[0], layers, weights[0], biases[0])]
    z = _filled(inputs)
    spare = z.shape[-1] - sum(x.shape[-1] for x in inputs)
    z = z if network.encoding is None else network.encoding(z)
    for index, layer in enumerate(network.layers):
        if index == 0 and spare:
            z = network.activation(0)(linear(z, functional.pad(layer.weight, (0, spare)), layer.bias))  # type: ignore
        else:
            z = activated(layer, network.activation(index), z)
    if len(sizes) == 1:
        return [network.output(z)]
    return [linear(z, weight, bias) for weight, bias in zip(weights[:wanted], biases[:wanted], strict=True)]


def _wavelet_parts(
    network: nn.Module, inputs: Sequence[Tensor], sizes: Sequence[int], wanted: int | None
) -> list[Tensor] | None:
    """`in_parts` of a WIRE network as one operation, with the wanted outputs only; None if that does not apply."""
    encoded = isinstance(network, nn.Sequential) and len(network) == 2
    wire = network[1] if encoded else network  # type: ignore[index]
    if not inputs[0].is_cuda or type(wire) is not Wire or has_hooks(network, wire):
        return None
    z = network[0](torch.cat(list(inputs), -1)) if encoded else _filled(inputs)  # type: ignore[index]
    values = wire.fused(z, None if wanted is None else sum(sizes[:wanted]))
    if values is not None:
        return list(values.split(list(sizes)[:wanted], -1))
    return list(wire(z).split(list(sizes), -1))[:wanted] if encoded else None


def _filled(inputs: Sequence[Tensor]) -> Tensor:
    """The inputs side by side; several are padded with zeros to rows that GPUs are fast with, except coordinates.

    >>> _filled((torch.ones(2, 3), torch.ones(2, 2))).shape, _filled((torch.ones(2, 3), torch.ones(2, 9))).shape
    (torch.Size([2, 5]), torch.Size([2, 16]))
    """
    if len(inputs) == 1:
        return inputs[0]
    columns = sum(x.shape[-1] for x in inputs)
    spare = -columns % ALIGNED if columns > MOST_COORDINATES else 0
    padding = [inputs[0].new_zeros(1, 1).expand(len(inputs[0]), spare)] if spare else []
    return torch.cat([*inputs, *padding], -1)
