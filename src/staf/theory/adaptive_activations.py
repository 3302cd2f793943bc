"""Adaptive activations as plain networks, the form of Jagtap et al.: sum_i C_i rho_i(Omega_i x) unrolls into blocks.

A layer z = sum_m C_m rho_m(Omega_m (W x + B)) of F neurons is a layer of tau F neurons in tau blocks: block m has
weights Omega_m W, bias Omega_m B and activation rho_m, and the next layer reads C^T (x) W. STAF is the case
rho_m(x) = sin(x + Phi_m); there all blocks can have one activation, because a phase is a bias, and the result is the
Kronecker equivalent of `staf.theory.kronecker`. For other families the blocks keep different activations.

>>> layers = [AdaptiveLayer(torch.randn(4, 2), torch.randn(4), torch.tensor([1.0, 0.5]), torch.tensor([1.0, 3.0]))]
>>> output = (torch.randn(3, 4), torch.randn(3))
>>> x = torch.rand(10, 2)
>>> adaptive = adaptive_network(x, layers, output, [torch.tanh, torch.sin])
>>> plain = BlockNetwork(layers, output, [torch.tanh, torch.sin])
>>> torch.allclose(adaptive, plain(x), atol=1e-5)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.theory.checks import finite_tensor

Activation = Callable[[Tensor], Tensor]


class AdaptiveLayer(NamedTuple):
    """weight (F, in), bias (F,), amplitude C (terms,), frequency Omega (terms,)."""

    weight: Tensor
    bias: Tensor
    amplitude: Tensor
    frequency: Tensor


def adaptive_network(
    x: Float[Tensor, "n d"],
    layers: Sequence[AdaptiveLayer],
    output: tuple[Tensor, Tensor],
    activations: Sequence[Activation],
) -> Float[Tensor, "n c"]:
    """The network by its definition: rho*(a) = sum_m C_m rho_m(Omega_m a) in every layer, then a linear output."""
    z = x
    for layer in layers:
        _check(layer, activations)
        a = z @ layer.weight.T + layer.bias
        parts = zip(layer.amplitude, layer.frequency, activations, strict=True)
        z = torch.stack([c * rho(omega * a) for c, omega, rho in parts]).sum(0)
    return z @ output[0].T + output[1]


class BlockNetwork(nn.Module):
    """The same function as a feed-forward network: blocks of neurons, block m with activation rho_m."""

    def __init__(
        self, layers: Sequence[AdaptiveLayer], output: tuple[Tensor, Tensor], activations: Sequence[Activation]
    ) -> None:
        super().__init__()
        self.activations = list(activations)
        matrices, read = [], None
        for layer in layers:
            _check(layer, activations)
            inner = layer.weight if read is None else torch.kron(read[None], layer.weight)
            matrices.append((torch.kron(layer.frequency[:, None], inner), torch.kron(layer.frequency, layer.bias)))
            read = layer.amplitude
        if read is None:
            raise ValueError("layers must hold at least one adaptive layer, got none")
        matrices.append((torch.kron(read[None], output[0]), output[1]))
        self.linears = nn.ModuleList(_linear(weight, bias) for weight, bias in matrices)

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        """Values at the coordinates."""
        z = coordinates
        for linear in self.linears[:-1]:
            blocks = linear(z).chunk(len(self.activations), -1)
            z = torch.cat([rho(block) for rho, block in zip(self.activations, blocks, strict=True)], -1)
        values: Tensor = self.linears[-1](z)
        return values


def _check(layer: AdaptiveLayer, activations: Sequence[Activation]) -> None:
    for name, tensor in zip(AdaptiveLayer._fields, layer, strict=True):
        finite_tensor(name, tensor)
    if not len(layer.amplitude) == len(layer.frequency) == len(activations):
        raise ValueError(
            f"activations must have one entry for each of the {len(layer.amplitude)} amplitudes and "
            f"{len(layer.frequency)} frequencies of a layer, got {len(activations)}"
        )


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    linear.weight, linear.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())
    return linear
