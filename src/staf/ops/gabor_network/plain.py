"""What `passes` computes, by torch's operations on any device: the definition of the kernels in `triton`.

Shapes have a leading axis of networks. Layers of `width` complex numbers are 2 width real ones, real and imaginary
parts side by side; a layer with a window has that one's numbers after its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from staf.ops.complex_linear.matrices import complex_numbers, real_matrix, real_numbers
from staf.ops.gabor.autograd import composed
from staf.ops.gabor.reference import gabor_reference
from staf.ops.gabor_network.products import added, matrix_planes, planes


class Wave(NamedTuple):
    """A layer's wavelet: constants, width, 1 or 2 maps (a window is the second), and what it takes and gives.

    The inner numbers are complex, but in the first layer. Results are numbers, or planes of a 16-bit type.
    """

    omega0: float
    sigma0: float
    width: int
    maps: int
    is_complex: bool
    planes: torch.dtype | None


def product(a: Tensor, b: Tensor, bias: Tensor | None, precision: str) -> Tensor:
    """a b^T + bias with (networks, n, k), (networks, m, k) and (networks, m)."""
    return a @ b.mT if bias is None else torch.baddbmm(bias[:, None], a, b.mT)


def sums(grad: Tensor, a: Tensor, precision: str) -> tuple[Tensor, Tensor]:
    """sum_n grad[n, m] a[n, k] and sum_n grad[n, m]."""
    return grad.mT @ a, grad.sum(1)


def value(inner: Tensor, shifts: Sequence[Tensor], wave: Wave) -> Tensor:
    """psi(inner + shift): numbers (networks, n, 2 width), or their planes.

    inner (networks, n, maps * width), or twice as many numbers where complex; shifts are complex (networks, m) with m
    up to `width`, one for each map, or none.
    """
    numbers = real_numbers(gabor_reference(*_arguments(inner, shifts, wave)))
    return numbers if wave.planes is None else planes(numbers, wave.planes)


def gradient(
    grad: Tensor, inner: Tensor, shifts: Sequence[Tensor], wave: Wave, again: torch.dtype | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradient by `inner`, as numbers or planes, its sums over points, and two planes of the value.

    grad (networks, n, 2 width) are numbers; `again` is the type of the value's planes, which are not made if None.
    """
    x, omega0, sigma0, window = _arguments(inner, shifts, wave)
    activation = None
    if again is not None:
        activation = planes(real_numbers(gabor_reference(x, omega0, sigma0, window)), again, 2)
    found = composed(complex_numbers(grad.contiguous()), x, omega0, sigma0, window)
    given = [part for part in found if part is not None]
    numbers = torch.cat([real_numbers(part) if wave.is_complex else part for part in given], -1)
    return numbers if wave.planes is None else planes(numbers, wave.planes), numbers.sum(1), activation


def matrices(
    layers: Sequence[Sequence[Tensor]], width: int, dtype: torch.dtype | None, transposed: bool
) -> Sequence[Tensor]:
    """Real matrices (networks, maps * 2 width, 2 width) of each layer's complex weights (networks, m, m), or planes.

    What lies beyond m is zero. `transposed`, rows and columns change places, before planes are made.
    """
    made = []
    for weights in layers:
        spare = 2 * (width - weights[0].shape[-1])
        parts = [functional.pad(real_matrix(weight), (0, spare, 0, spare)) for weight in weights]
        matrix = torch.cat(parts, 1)
        matrix = matrix.mT.contiguous() if transposed else matrix
        made.append(matrix if dtype is None else matrix_planes(matrix, dtype))
    return made


def folded(totals: Sequence[Sequence[Tensor]], size: int, width: int, maps: int) -> list[list[Tensor]]:
    """Gradients by complex weights (networks, m, m), m = `size`, of those by real matrices from `products.sums`."""
    found = []
    for parts in totals:
        blocks = added(parts).unflatten(1, (maps, width, 2)).unflatten(-1, (width, 2))[:, :, :size, :, :size]
        real = blocks[:, :, :, 0, :, 0] + blocks[:, :, :, 1, :, 1]
        imaginary = blocks[:, :, :, 1, :, 0] - blocks[:, :, :, 0, :, 1]
        found.append(list(torch.complex(real, imaginary).unbind(1)))
    return found


def _arguments(inner: Tensor, shifts: Sequence[Tensor], wave: Wave) -> tuple[Tensor, float, float, Tensor | None]:
    """What `gabor_reference` takes."""
    given = []
    for index, part in enumerate(inner.chunk(wave.maps, -1)):
        numbers = complex_numbers(part.contiguous()) if wave.is_complex else part
        if shifts:
            numbers = numbers + functional.pad(shifts[index], (0, wave.width - shifts[index].shape[-1]))[:, None]
        given.append(numbers)
    return given[0], wave.omega0, wave.sigma0, given[1] if wave.maps == 2 else None
