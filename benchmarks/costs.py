"""What a case must cost at least: matrix FLOPs, bytes, sines, and the time that a machine's rates make of them.

The floor is a roofline of separate kernels: each matrix product and each activation reads its inputs once and writes
its outputs once, and takes the longer of its arithmetic and its traffic. Fusing an activation into a product could go
below it; launches, the loss and the optimiser are left out, so nothing unfused can.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from benchmarks.rates import Rates

FLOAT = 4


@dataclass(frozen=True)
class Kernel:
    """The least work of one kernel."""

    flops: float = 0.0
    bytes: float = 0.0
    sines: float = 0.0

    def seconds(self, rates: Rates, precision: str) -> float:
        matmul = self.flops / rates.matmul.get(precision, rates.matmul["fp32"])
        sines = self.sines / rates.sines if rates.sines else 0.0
        return max(matmul, self.bytes / rates.copy, sines)


@dataclass(frozen=True)
class Cost:
    """The kernels of one step or one forward pass."""

    kernels: tuple[Kernel, ...]

    @property
    def flops(self) -> float:
        return sum(kernel.flops for kernel in self.kernels)

    @property
    def bytes(self) -> float:
        return sum(kernel.bytes for kernel in self.kernels)

    def floor_seconds(self, rates: Rates, precision: str) -> float:
        """The least time at these rates."""
        return sum(kernel.seconds(rates, precision) for kernel in self.kernels)


def cost(field: nn.Module, points: int, *, train: bool, terms: int | None = None) -> Cost:
    """The cost of a forward pass, or of forward and backward with gradients of all weights, on `points` points.

    A complex product counts as four real ones, a complex number as two. `terms` sines are computed per activation
    forward, and `terms` sines and cosines backward.

    >>> from staf.nn import siren
    >>> round(cost(siren(2, 3), 262_144, train=True).flops / 1e9)
    311
    """
    kernels = []
    linears = [module for module in field.modules() if isinstance(module, nn.Linear)]
    for index, linear in enumerate(linears):
        is_complex = linear.weight.is_complex()
        size = FLOAT * (2 if is_complex else 1)
        flops = (8 if is_complex else 2) * points * linear.in_features * linear.out_features
        read, written = points * linear.in_features * size, points * linear.out_features * size
        kernels.append(Kernel(flops=flops, bytes=read + written))
        if train:
            kernels.append(Kernel(flops=flops, bytes=read + written))
            if index > 0:
                kernels.append(Kernel(flops=flops, bytes=read + written))
        if index < len(linears) - 1:
            sines = points * linear.out_features * (terms or 0)
            # WIRE's first activation makes complex numbers of real ones.
            out = written if linears[index + 1].weight.is_complex() == is_complex else 2 * written
            kernels.append(Kernel(bytes=written + out, sines=sines))
            if train:
                kernels.append(Kernel(bytes=2 * written + out, sines=2 * sines))
    return Cost(tuple(kernels))
