"""What WIRE's products cost in accuracy, on a CPU: they are rounded as a GPU rounds them.

python -m benchmarks.wavelet_rounding [--fits SEEDS]

First the relative errors against float64 of values and of gradients, the largest, as training starts. With `--fits`,
fits of a picture of 48x48 by 4 layers of 64 (omega0 and sigma0 15, 200 full batches of Adam at 3e-3, cosine) with each
kind of product, the PSNR of their weights in float32. A GPU's sines, off by 7e-7, are not in it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch
from torch import Tensor

from staf.benchmarking.programs import picture
from staf.nn import Wire
from staf.ops.gabor_network import passes, plain, products
from staf.ops.gabor_network.autograd import GaborNetwork, Options
from staf.tasks import Reconstruction

POINTS, SIDE, STEPS, RATE = 700, 48, 200, 3e-3
KINDS = ("float32", "bf16x3", "bf16x3, bfloat16 forward", "tf32")
# Width, inputs, outputs, whether planar, omega0 and sigma0.
NETWORKS = ((181, 2, 3, False, 15.0), (64, 2, 3, False, 30.0), (90, 3, 129, False, 40.0), (128, 2, 3, True, 15.0))
SIGMA0 = {15.0: 15.0, 30.0: 10.0, 40.0: 40.0}


def tf32(x: Tensor) -> Tensor:
    """The nearest numbers of ten bits."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)


@contextmanager
def rounded(kind: str) -> Iterator[None]:
    """Products as this kind has them; of float32 alone, they are in tf32."""
    multiplied, product, sums = products._multiplied, plain.product, plain.sums

    def by_bits(a: Tensor, b: Tensor) -> Tensor:
        return tf32(a) @ tf32(b) if a.dtype == torch.float32 else multiplied(a, b)

    def is_exact(precision: str, depth: int, columns: int) -> bool:
        return precision != "tf32" or depth <= 8 or columns <= 4

    def end(a: Tensor, b: Tensor, bias: Tensor | None, precision: str) -> Tensor:
        exact = is_exact(precision, a.shape[-1], b.shape[1])
        return product(a, b, bias, precision) if exact else product(tf32(a), tf32(b), bias, precision)

    def end_sums(grad: Tensor, a: Tensor, precision: str) -> tuple[Tensor, Tensor]:
        exact = is_exact(precision, a.shape[-1], grad.shape[-1])
        return sums(grad, a, precision) if exact else (sums(tf32(grad), tf32(a), precision)[0], grad.sum(1))

    largest = -1.0 if "bfloat16" in kind else passes.LARGEST_EXPONENT
    with (
        mock.patch.object(products, "_multiplied", by_bits),
        mock.patch.object(plain, "product", end),
        mock.patch.object(plain, "sums", end_sums),
        mock.patch.object(passes, "LARGEST_EXPONENT", largest),
    ):
        yield


def values(field: Wire, x: Tensor, kind: str) -> Tensor:
    """The field's values by this kind of products."""
    if kind == "float32":
        return field(x)
    layers = field._tensors(0)
    omega0 = (field.omega0,) + (field.hidden_omega0,) * (len(layers) - 1)
    options = Options(kind.partition(",")[0], omega0, field.sigma0, len(layers[0]) // 2)
    tensors = [tensor for layer in layers for tensor in layer] + [field.output.weight, field.output.bias]
    return GaborNetwork.apply(options, True, x[None], *(tensor[None] for tensor in tensors))[0][0]  # type: ignore


def wire(width: int, inputs: int, outputs: int, planar: bool, omega0: float, seed: int = 0) -> Wire:
    return Wire(
        inputs,
        outputs,
        width=width,
        depth=4,
        omega0=omega0,
        hidden_omega0=omega0,
        sigma0=SIGMA0[omega0],
        planar=planar,
        generator=torch.Generator().manual_seed(seed),
    )


def errors() -> None:
    for width, inputs, outputs, planar, omega0 in NETWORKS:
        field, exact = (wire(width, inputs, outputs, planar, omega0) for _ in range(2))
        exact = exact.double()
        generator = torch.Generator().manual_seed(1)
        x = 2 * torch.rand(POINTS, inputs, generator=generator) - 1
        grad = torch.randn(POINTS, outputs, generator=generator)
        true = exact(x.double())
        expected = torch.autograd.grad(true, list(exact.parameters()), grad.double())
        window = "planar, " if planar else ""
        print(f"width {width}, {window}omega0 {omega0:g}, sigma0 {SIGMA0[omega0]:g}, {outputs} outputs")
        for kind in KINDS:
            with rounded(kind):
                found = values(field, x, kind)
                mine = torch.autograd.grad(found, list(field.parameters()), grad)
            worst = max(relative(a, b) for a, b in zip(mine, expected, strict=True))
            print(f"    {kind:28s} {relative(found, true):.1e} {worst:.1e}", flush=True)


def relative(ours: Tensor, true: Tensor) -> float:
    return float((ours - true).detach().norm() / true.detach().norm())


def fit(kind: str, seed: int) -> float:
    """The PSNR of a short fit."""
    x, target, _ = Reconstruction(picture(SIDE * SIDE)).batch(None)
    # The waves of the picture are smooth: noise is what it is hard to fit.
    target = 0.5 * target + 0.15 * torch.rand(target.shape, generator=torch.Generator().manual_seed(0))
    field = wire(64, 2, 3, False, 15.0, seed)
    optimiser = torch.optim.Adam(field.parameters(), lr=RATE)
    for step in range(STEPS):
        optimiser.param_groups[0]["lr"] = RATE * 0.5 * (1 + math.cos(math.pi * step / STEPS))
        optimiser.zero_grad()
        with rounded(kind):
            (values(field, x, kind) - target).square().mean().backward()
        optimiser.step()
    with torch.no_grad():
        return -10 * math.log10((field(x) - target).square().mean().item())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wavelet_rounding", description=__doc__)
    parser.add_argument("--fits", type=int, default=0, help="how many seeds of each kind are fitted")
    options = parser.parse_args(arguments)
    errors()
    for kind in KINDS if options.fits else ():
        found = [fit(kind, seed) for seed in range(options.fits)]
        mean = sum(found) / len(found)
        print(f"fits, {kind:28s} {mean:.2f} dB: {', '.join(f'{one:.2f}' for one in found)}", flush=True)


if __name__ == "__main__":
    main()
