"""Check and time the kernels of `ops.sine_network` on a GPU: errors against float64, then microseconds of each kernel.

python benchmarks/sine_network.py [points]
"""

from __future__ import annotations

import collections
import sys

import torch
from torch import Tensor
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from staf.ops.sine_network.autograd import SineNetwork
from staf.ops.sine_network.reference import sine_network_reference

WIDTH, DEPTH, TERMS, ROUNDS = 256, 4, 5, 4
CHECKED = 8_229


def network(points: int, device: str = "cuda") -> tuple[Tensor, list[Tensor]]:
    """Coordinates and a network's tensors, as `SineNetwork` takes them."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(1, *shape, generator=generator)

    tensors = []
    for k in (2, *[WIDTH] * (DEPTH - 1)):
        bound = 1 / k if k == 2 else (6 / k) ** 0.5 / 30
        tensors += [bound * (2 * torch.rand(1, WIDTH, k, generator=generator) - 1), 0.05 * normal(WIDTH)]
        frequency = 10 + 20 * torch.rand(1, 1, TERMS, generator=generator)
        tensors += [normal(1, TERMS).abs() / TERMS, frequency, normal(1, TERMS)]
    tensors += [normal(3, WIDTH) / WIDTH**0.5, normal(3)]
    x = 2 * torch.rand(1, points, 2, generator=generator) - 1
    return x.to(device), [tensor.to(device).requires_grad_() for tensor in tensors]


def errors(precision: str) -> tuple[float, float]:
    """The relative error of the values, and the largest of a gradient."""
    x, tensors = network(CHECKED)
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    layers = [tuple(exact[i : i + 5]) for i in range(0, 5 * DEPTH, 5)]
    true = sine_network_reference(x.double(), layers, *exact[-2:])  # type: ignore[arg-type]
    found = SineNetwork.apply(precision, True, None, x, *tensors)[0]
    grad = 1e-6 * torch.randn_like(found)
    pairs = [(found, true)]
    pairs += list(
        zip(torch.autograd.grad(found, tensors, grad), torch.autograd.grad(true, exact, grad.double()), strict=True)
    )
    relative = [float((a.double() - b).detach().norm() / b.detach().norm()) for a, b in pairs]
    return relative[0], max(relative[1:])


def kernel_times(precision: str, points: int) -> dict[str, list[float]]:
    """Microseconds of each launch of each kernel in a pass forward and backward, the smallest of some rounds."""
    x, tensors = network(points)

    def run() -> None:
        found = SineNetwork.apply(precision, True, None, x, *tensors)[0]
        torch.autograd.grad(found, tensors, torch.ones_like(found))

    run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(ROUNDS):
            run()
        torch.cuda.synchronize()
    launches = collections.defaultdict(list)
    for event in sorted(profiler.events(), key=lambda event: event.time_range.start):
        if event.device_type == DeviceType.CUDA and event.name.endswith("_kernel"):
            launches[event.name].append(event.time_range.elapsed_us())
    return {
        name: [round(min(times[i :: len(times) // ROUNDS]), 1) for i in range(len(times) // ROUNDS)]
        for name, times in launches.items()
    }


if __name__ == "__main__":
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 262_144
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {points:,} points, {DEPTH} layers of {WIDTH}")
    for precision in ("bf16x3", "tf32"):
        value, gradient = errors(precision)
        print(f"{precision}: relative error of values {value:.1e}, of gradients up to {gradient:.1e}")
        for name, times in kernel_times(precision, points).items():
            print(f"  {name:24s} {sum(times):9.1f} us  {times}")
