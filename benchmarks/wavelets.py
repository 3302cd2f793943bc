"""Check and time WIRE's network on a GPU: errors, kernels of a pass, and other ways to multiply its matrices.

python -m benchmarks.wavelets [--points 65536] [--width 181] [--planar] [--only errors kernels products]

`products` times one hidden layer forward, by its input and by its weight: complex numbers by the library, real matrices
with rows as they are and filled up, in float32, tf32 and planes of 16 bits, and by the library's own kernels.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Callable
from functools import partial

import torch
import triton
from torch import Tensor
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.plane_sums import TILES, plane_sums
from staf.nn import Wire
from staf.ops.complex_linear.matrices import real_matrix
from staf.ops.gabor_network import products
from staf.ops.linear import product_precision
from staf.ops.linear import triton as linear_triton
from staf.ops.linear.library import library_precision

CHECKED, ROUNDS = 8_229, 5
PRECISIONS = ("fp32", "bf16x3", "tf32")


def field_of(options: argparse.Namespace, omega0: float, sigma0: float) -> Wire:
    generator = torch.Generator().manual_seed(0)
    constants = {"omega0": omega0, "hidden_omega0": omega0, "sigma0": sigma0, "planar": options.planar}
    return Wire(2, 3, width=options.width, depth=4, generator=generator, **constants)


def points_of(count: int) -> Tensor:
    return 2 * torch.rand(count, 2, generator=torch.Generator().manual_seed(1)).cuda() - 1


def errors(options: argparse.Namespace) -> None:
    """Relative errors of values and of gradients, the largest, against float64: at the start, for some constants."""
    x = points_of(CHECKED)
    for omega0, sigma0 in ((5.0, 5.0), (15.0, 15.0), (30.0, 10.0)):
        field = field_of(options, omega0, sigma0)
        exact = field_of(options, omega0, sigma0).double().cuda()
        field = field.cuda()
        true = exact(x.double())
        grad = torch.randn(true.shape, generator=torch.Generator().manual_seed(2)).cuda()
        expected = torch.autograd.grad(true, list(exact.parameters()), grad.double())
        for precision in PRECISIONS:
            with product_precision(precision):
                found = field(x)
                mine = torch.autograd.grad(found, list(field.parameters()), grad)
            worst = max(relative(a, b) for a, b in zip(mine, expected, strict=True))
            print(f"omega0 {omega0:g}, sigma0 {sigma0:g}, {precision:6s} {relative(found, true):.1e} {worst:.1e}")


def relative(ours: Tensor, true: Tensor) -> float:
    return float((ours - true).detach().norm() / true.detach().norm())


def kernels(options: argparse.Namespace) -> None:
    """Microseconds of each launch in a pass forward and backward, the smallest of some rounds."""
    x = points_of(options.points)
    for precision in PRECISIONS:
        field = field_of(options, 15.0, 15.0).cuda()

        def run(field: Wire = field, precision: str = precision) -> None:
            with product_precision(precision):
                found = field(x)
                torch.autograd.grad(found, list(field.parameters()), torch.ones_like(found))

        for _ in range(2):
            run()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(ROUNDS):
                run()
            torch.cuda.synchronize()
        launches = collections.defaultdict(list)
        for event in sorted(profiler.events(), key=lambda event: event.time_range.start):
            if event.device_type == DeviceType.CUDA:
                launches[event.name[:60]].append(event.time_range.elapsed_us())
        rows = {
            name: [round(min(times[i :: len(times) // ROUNDS]), 1) for i in range(len(times) // ROUNDS)]
            for name, times in launches.items()
        }
        print(f"{precision}: {sum(map(sum, rows.values())):.1f} us in {sum(map(len, rows.values()))} launches")
        for name, times in sorted(rows.items(), key=lambda row: -sum(row[1])):
            print(f"  {sum(times):8.1f} us  {name:60s} {times if len(times) < 12 else len(times)}")


def timed(work: Callable[[], object]) -> float:
    """Microseconds of a captured run, the smallest mean of some rounds."""
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = work()
    means = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(20):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        means.append(start.elapsed_time(end) * 50)
    del kept
    return min(means)


def hidden_products(options: argparse.Namespace) -> None:
    """A hidden layer's three products in every way."""
    points, size = options.points, options.width
    print(f"{points:,} points, {size} complex: microseconds forward, by the input, by the weight")
    x, g, w = (draw(rows, size, dtype=torch.complex64) for rows in (points, points, size))
    show("complex by the library", lambda: x @ w.T, lambda: g @ w.conj(), lambda: g.T @ x.conj())
    for width in sorted({size, -(-size // 2) * 2, -(-size // 4) * 4, -(-size // 32) * 32}):
        numbers, grads = draw(1, points, 2 * width), draw(1, points, 2 * width)
        matrix = real_matrix(draw(1, width, width, dtype=torch.complex64)) / width**0.5
        for precision in ("ieee", "tf32"):
            by_library(numbers, grads, matrix, precision)
        if width % 2 == 0:
            by_own_kernels(numbers, grads, matrix)
        if width % 4 == 0:
            for dtype in products.SPLIT:
                by_planes(numbers, grads, matrix, dtype)


def draw(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def show(name: str, *work: Callable[[], object]) -> None:
    try:
        found = ", ".join(f"{timed(one):7.1f}" for one in work)
    except Exception as error:  # one way that cannot run must not cost the others
        found = f"{type(error).__name__}: {str(error)[:160]}"
    print(f"  {name:64s} {found}", flush=True)


def by_library(numbers: Tensor, grads: Tensor, matrix: Tensor, precision: str) -> None:
    """Real matrices by the library."""
    turned = matrix.mT.contiguous()

    def multiply(one: Tensor, other: Tensor) -> Tensor:
        with library_precision(precision):
            return torch.mm(one, other)

    show(
        f"real by the library, {precision}, {numbers.shape[-1]} columns",
        lambda: multiply(numbers[0], matrix[0].T),
        lambda: multiply(grads[0], turned[0].T),
        lambda: multiply(grads[0].T, numbers[0]),
    )


def by_own_kernels(numbers: Tensor, grads: Tensor, matrix: Tensor) -> None:
    """Real matrices by `ops.linear`, which splits numbers while it multiplies."""
    turned = matrix.mT.contiguous()
    show(
        f"real by ops.linear, bf16x3, {numbers.shape[-1]} columns",
        lambda: linear_triton.product(numbers, matrix, None, "bf16x3"),
        lambda: linear_triton.product(grads, turned, None, "bf16x3"),
        lambda: linear_triton.sums(grads, numbers, "bf16x3"),
    )


def by_planes(numbers: Tensor, grads: Tensor, matrix: Tensor, dtype: torch.dtype) -> None:
    """Planes by the library, as `ops.gabor_network` has them, and their sums by tiles of Triton."""
    columns = numbers.shape[-1]
    matrices = [products.matrix_planes(one, dtype) for one in (matrix, matrix.mT.contiguous())]
    values, slopes, again = (
        products.planes(numbers, dtype),
        products.planes(grads, dtype),
        products.planes(numbers, dtype, 2),
    )
    show(
        f"planes by the library, {dtype}, {3 * columns} columns",
        lambda: products.product(values, matrices[0]),
        lambda: products.product(slopes, matrices[1]),
        lambda: products.sums(slopes, again),
    )
    for tile in TILES:
        show(f"  sums by tiles {tile}", partial(plane_sums, slopes[0], again[0], tile))
    one = plane_sums(slopes[0], again[0], TILES[0]).sum(0)
    print(f"  error {relative(one, products.added(products.sums(slopes, again))[0]):.1e}")


def main(arguments: list[str] | None = None) -> None:
    parts = {"errors": errors, "kernels": kernels, "products": hidden_products}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wavelets", description=__doc__)
    parser.add_argument("--points", type=int, default=65_536)
    parser.add_argument("--width", type=int, default=181)
    parser.add_argument("--planar", action="store_true")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    options = parser.parse_args(arguments)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    for name in options.only:
        print(f"== {name}")
        parts[name](options)


if __name__ == "__main__":
    main()
