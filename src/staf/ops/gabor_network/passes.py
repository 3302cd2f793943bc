"""A network of wavelets, forward and backward: hidden layers are products of real matrices, as `products` has them.

The network is computed as if it were a little wider, with zeros for the weights of neurons that it has not: rows of
numbers then begin where the GPU's matrix units and copy engines want them to, and no activation has to be moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from staf.ops import column_sums
from staf.ops.complex_linear.matrices import complex_numbers, real_rows
from staf.ops.gabor_network import plain, products
from staf.ops.gabor_network.plain import Wave
from staf.ops.linear.autograd import COORDINATES

# Widths are filled up to multiples of this many complex numbers: 16 bytes of a 16-bit plane. Outputs are real numbers;
# up to `THIN` of them have kernels of their own.
ALIGNED, ALIGNED_OUTPUTS, THIN = 4, 16, 4
# exp of this is half of the largest float16.
LARGEST_EXPONENT = 10.0

Layers = Sequence[Sequence[Tensor]]


class Network(NamedTuple):
    """A network's tensors with a leading axis of networks: layers (W, b) or (W, b, U, d), the output's V and c."""

    layers: Layers
    output: Tensor
    bias: Tensor
    omega0: tuple[float, ...]
    sigma0: float

    @property
    def size(self) -> int:
        return self.layers[0][0].shape[1]

    @property
    def width(self) -> int:
        """The size, filled up."""
        return -(-self.size // ALIGNED) * ALIGNED

    @property
    def maps(self) -> int:
        return len(self.layers[0]) // 2

    def wave(self, index: int, planes: torch.dtype | None) -> Wave:
        """The wavelet of a layer, counted from 0."""
        return Wave(self.omega0[index], self.sigma0, self.width, self.maps, index > 0, planes)

    def planes(self, precision: str) -> torch.dtype | None:
        """The type of the activations' planes: float16, 22 bits together, unless a wavelet may be too large for it.

        The largest value of exp(i w x - |s x|^2) is exp((w / 2 s)^2). None with "tf32", which has no planes.
        """
        if precision != "bf16x3":
            return None
        exponent = (max(self.omega0) / (2 * self.sigma0)) ** 2
        return torch.float16 if exponent < LARGEST_EXPONENT else torch.bfloat16


def value(x: Tensor, network: Network, precision: str, keep: bool) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """x (networks, n, inputs) to (networks, n, outputs), and, where `keep`, inner numbers and activations by layer.

    Of the activations, planes are not kept.
    """
    kernels, ends = _implementations(x)
    dtype, last = network.planes(precision), len(network.layers) - 1
    inner = ends.product(x, *_first(network), _of_inputs(x, precision))
    matrices = kernels.matrices([layer[::2] for layer in network.layers[1:]], network.width, dtype, False)
    inners, activations = [], []
    for index in range(last + 1):
        shifts = network.layers[index][1::2] if index else ()
        wave = network.wave(index, dtype if index < last else None)
        activation = kernels.value(inner, shifts, wave)
        if keep:
            inners.append(inner)
        if keep and wave.planes is None:
            activations.append(activation)
        if index < last:
            inner = products.product(activation, matrices[index])
    out = ends.product(activation, *_output(network), precision)
    return out[..., : network.output.shape[1]], inners, activations


def gradients(
    grad: Tensor,
    x: Tensor,
    network: Network,
    inners: Sequence[Tensor],
    activations: Sequence[Tensor],
    precision: str,
    of_input: bool,
) -> tuple[Tensor | None, list[Tensor]]:
    """The gradient by x, where it is wanted, and those by all tensors of the network, in their order."""
    kernels, ends = _implementations(x)
    size, width, last = network.size, network.width, len(network.layers) - 1
    # A gradient has no largest value that is known before, which float16 would need.
    dtype = torch.bfloat16 if precision == "bf16x3" else None
    outputs = network.output.shape[1]
    matrix, _ = _output(network)
    spare = matrix.shape[1] - outputs
    grad = functional.pad(grad, (0, spare)) if spare else grad.contiguous()
    in_matrix, in_bias = ends.sums(grad, activations[-1], precision)
    flowing = ends.product(grad, matrix.mT, None, precision)
    matrices = kernels.matrices([layer[::2] for layer in network.layers[1:]], width, dtype, True)
    totals: list[tuple[Tensor, ...]] = []
    in_shifts: list[Tensor] = []
    in_inner = flowing
    for index in reversed(range(last + 1)):
        above = in_inner
        shifts = network.layers[index][1::2] if index else ()
        # The value is computed again beside the gradient, which takes less memory than to keep it.
        again = dtype if index < last else None
        wave = network.wave(index, dtype if index else None)
        in_inner, summed, activation = kernels.gradient(flowing, inners[index], shifts, wave, again)
        if index < last:
            totals.insert(0, products.sums(above, activations[index] if activation is None else activation))
        if index:
            in_shifts.insert(0, summed)
            flowing = products.product(in_inner, matrices[index - 1])
    column_sums.leave(in_inner, summed)
    in_first, in_first_bias = ends.sums(in_inner, x, precision)
    in_x = ends.product(in_inner, _first(network)[0].mT, None, _of_inputs(x, precision)) if of_input else None

    found: list[Tensor] = []
    for at in range(0, network.maps * width, width):
        found += [in_first[:, at : at + size], in_first_bias[:, at : at + size]]
    for weights, summed in zip(kernels.folded(totals, size, width, network.maps), in_shifts, strict=True):
        for index, weight in enumerate(weights):
            at = 2 * width * index
            found += [weight, complex_numbers(summed[:, at : at + 2 * size])]
    # The output's real rows are those of the conjugate.
    found.append(complex_numbers(in_matrix[:, :outputs, : 2 * size]).conj().resolve_conj())
    found.append(in_bias[:, :outputs].to(network.bias.dtype))
    return in_x, found


def _implementations(x: Tensor) -> tuple[Any, Any]:
    """The modules with the wavelets, and with the layers at both ends."""
    if not x.is_cuda:
        return plain, plain
    from staf.ops.gabor_network import triton
    from staf.ops.linear import triton as linear_triton

    return triton, linear_triton


def _of_inputs(x: Tensor, precision: str) -> str:
    """Coordinates, and derivatives by them, are exact."""
    return "fp32" if x.shape[-1] <= COORDINATES else precision


def _first(network: Network) -> tuple[Tensor, Tensor]:
    """Weight and bias of the first layer, all maps below each other, each filled up with zeros."""
    layer, spare = network.layers[0], network.width - network.size
    weights, biases = list(layer[::2]), list(layer[1::2])
    if spare:
        weights = [functional.pad(weight, (0, 0, 0, spare)) for weight in weights]
        biases = [functional.pad(bias, (0, spare)) for bias in biases]
    if network.maps == 1:
        return weights[0], biases[0].contiguous()
    return torch.cat(weights, 1), torch.cat(biases, 1)


def _output(network: Network) -> tuple[Tensor, Tensor]:
    """The real rows of the output layer (networks, outputs, 2 width) and its bias, filled up with zeros."""
    outputs = network.output.shape[1]
    rows = 0 if outputs <= THIN else -outputs % ALIGNED_OUTPUTS
    spare = 2 * (network.width - network.size)
    matrix, bias = real_rows(network.output), network.bias.real
    if rows or spare:
        matrix = functional.pad(matrix, (0, spare, 0, rows))
    return matrix, functional.pad(bias, (0, rows)) if rows else bias.contiguous()
