"""Compile the GPU kernels for a GPU that is not here: `python -m benchmarks.compile_kernels 8.9`.

Kernels that run on one GPU can fail on another: the compiler can refuse them, or they can need more shared memory than
it has. This runs the operations on CPU tensors that say they are on a GPU of the given compute capability, compiles
each kernel that they launch, and launches none. It prints the kernels with the most shared memory that each needs, and
exits with 1 if one does not compile or does not fit. It needs the triton package and one or two minutes, but no GPU and
no driver. It says nothing about results or speed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import staf
from staf.ops import volume_rendering
from staf.ops.linear.autograd import Product
from staf.ops.linear.precision import product_precision
from staf.ops.squared_error import weighted_squared_error
from staf.training.optim.soap import Soap

# Bytes of shared memory that a program may have, by compute capability (CUDA's programming guide).
SHARED_MEMORY = {
    "7.5": 65_536,
    "8.0": 166_912,
    "8.6": 101_376,
    "8.7": 166_912,
    "8.9": 101_376,
    "9.0": 232_448,
    "10.0": 232_448,
    "12.0": 101_376,
}
PRECISIONS = ("bf16x3", "tf32", "fp32")
# Few points and many have kernels of their own.
POINTS = (1000, 65_536)
GPU = torch.device("cuda", 0)


@dataclass
class Found:
    """What was compiled: the most shared memory by kernel, and why others could not be."""

    shared: dict[str, int] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def table(self, limit: int) -> str:
        """The kernels in alphabetical order, those that fail with the reason.

        >>> print(Found({"one": 4096, "two": 70000}, {"three": "ValueError: no"}).table(65536))
        one: 4,096 bytes
        three: does not compile: ValueError: no
        two: 70,000 bytes, which is too much
        """
        lines = {name: f"{name}: does not compile: {why}" for name, why in self.errors.items()}
        for name, shared in self.shared.items():
            lines[name] = f"{name}: {shared:,} bytes" + (", which is too much" if shared > limit else "")
        return "\n".join(lines[name] for name in sorted(lines))

    def fits(self, limit: int) -> bool:
        """Whether every kernel compiles, and has no more than `limit` bytes."""
        return not self.errors and all(shared <= limit for shared in self.shared.values())


class SaysCuda(TorchFunctionMode):
    """Tensors say that they are on a GPU, and what is to be made there is made on the CPU."""

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if function in _ANSWERS:
            return _ANSWERS[function]
        options = {name: _on_cpu(value) for name, value in (options or {}).items()}
        return function(*map(_on_cpu, arguments), **options)


_ANSWERS = {
    torch.Tensor.is_cuda.__get__: True,  # type: ignore[attr-defined]
    torch.Tensor.is_cpu.__get__: False,  # type: ignore[attr-defined]
    torch.Tensor.device.__get__: GPU,  # type: ignore[attr-defined]
}


def _on_cpu(value: Any) -> Any:
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value


@contextlib.contextmanager
def pretended(capability: str) -> Iterator[Found]:
    """A block in which tensors are on a GPU of this compute capability, and kernels are compiled but not launched.

    Triton and the library keep what they know of a GPU, so that a process can pretend to have one only.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.runtime.jit import JITFunction

    found, run = Found(), JITFunction.run
    major, minor = map(int, capability.split("."))
    properties = {"max_shared_mem": SHARED_MEMORY[capability]}
    active = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 10 * major + minor, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device=None: 0,
        get_device_capability=lambda device=None: (major, minor),
        get_active_torch_device=lambda: GPU,
        utils=SimpleNamespace(get_device_properties=lambda device: properties),
    )

    def compile_only(kernel: Any, *arguments: Any, grid: Any, warmup: bool = False, **options: Any) -> Any:
        name = f"{kernel.fn.__module__}.{kernel.fn.__name__}"
        try:
            made = run(kernel, *arguments, grid=grid, warmup=True, **options)
        except Exception as error:
            found.errors[name] = f"{type(error).__name__}: {str(error).splitlines()[-1] if str(error) else ''}"
            raise
        found.shared[name] = max(found.shared.get(name, 0), made.metadata.shared)
        return made

    @contextlib.contextmanager
    def nothing(*arguments: Any) -> Iterator[None]:
        yield

    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_properties": lambda device=None: SimpleNamespace(multi_processor_count=132),
        "is_current_stream_capturing": lambda: False,
        "device": nothing,
        "device_of": nothing,
    }
    with contextlib.ExitStack() as stack:
        triton.runtime.driver.set_active(active)
        stack.enter_context(mock.patch.object(JITFunction, "run", compile_only))
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        stack.enter_context(SaysCuda())
        yield found


def of_network(make: Callable[[], nn.Module], precision: str, points: int) -> None:
    """The kernels of a training step and of a pass of values."""
    network = make()
    coordinates = torch.rand(points, 2) * 2 - 1
    with product_precision(precision):
        values = network(coordinates)
        weighted_squared_error(values, torch.rand(points, 3), torch.full((points,), 1 / points)).backward()
        with torch.no_grad():
            network(coordinates)


def of_networks(precision: str, points: int) -> None:
    """The kernels of layers of several networks that train together."""
    inputs, weight, bias = torch.rand(4, points, 256), torch.rand(4, 256, 256), torch.rand(4, 256)
    given: list[Tensor] = [tensor.requires_grad_() for tensor in (inputs, weight, bias)]
    with product_precision(precision):
        Product.apply(*given, precision).square().mean().backward()


def of_rays() -> None:
    """The kernels that render a scene."""
    count = torch.tensor([0, 3, 40, 70])
    density, distance, width = (torch.rand(int(count.sum())) for _ in range(3))
    colour = torch.rand(len(density), 3)
    for tensor in (density, colour, distance, width):
        tensor.requires_grad_()
    first, behind = count.cumsum(0) - count, torch.ones(3)
    shown = volume_rendering.composite(density, colour, distance, width, first, count, behind)
    (shown.colour.sum() + shown.depth.sum()).backward()
    rays = torch.rand(100, 3), torch.rand(100, 3), torch.rand(100), 1 + torch.rand(100)
    samples = volume_rendering.march(*rays, torch.ones(16, 16, 16, dtype=torch.bool), step=0.1, budget=1000)
    volume_rendering.visible(samples, torch.rand(1000), torch.rand(1000), stop=1e-3, budget=500)


def of_optimisers() -> None:
    """The kernels of a step of SOAP, with few and with many numbers, and of the records of a step."""
    matrices = [nn.Parameter(torch.rand(side, side)) for side in (16, 256, 256)]
    for matrix in matrices:
        matrix.grad = torch.rand_like(matrix)
    Soap(matrices).step()
    from staf.training.optim.step_triton import note_step

    note_step(torch.zeros(1, dtype=torch.long), torch.ones(4, 2), torch.ones(2), torch.ones(1), torch.ones(4, 1))


def cases() -> dict[str, Callable[[], None]]:
    """What is run, by name."""
    networks: dict[str, Callable[[], nn.Module]] = {
        "staf": lambda: staf.staf(2, 3),
        "staf per neuron": lambda: staf.staf(2, 3, sharing="neuron"),
        "staf of 20 terms": lambda: staf.staf(2, 3, terms=20),
        "siren": lambda: staf.siren(2, 3),
        "siren of 50": lambda: staf.siren(2, 3, width=50),
        "finer": lambda: staf.finer(2, 3),
        "gauss": lambda: staf.gauss(2, 3),
        "ffn": lambda: staf.ffn(2, 3),
        "ngp": lambda: staf.ngp(2, 3),
    }
    found: dict[str, Callable[[], None]] = {"rays": of_rays, "optimisers": of_optimisers}
    for precision, points in itertools.product(PRECISIONS, POINTS):
        for name, make in networks.items():
            found[f"{name}, {precision}, {points} points"] = functools.partial(of_network, make, precision, points)
        found[f"several networks, {precision}, {points} points"] = functools.partial(of_networks, precision, points)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile_kernels", description=__doc__)
    parser.add_argument("capability", choices=list(SHARED_MEMORY), help="such as 8.9")
    capability = parser.parse_args(arguments).capability
    if importlib.util.find_spec("triton") is None:
        print("the package triton is missing: pip install triton", file=sys.stderr)
        return 2
    import triton

    with pretended(capability) as found:
        for name, run in cases().items():
            try:
                run()
            except Exception as error:
                found.errors.setdefault(name, f"{type(error).__name__}: {error}")
    limit = SHARED_MEMORY[capability]
    print(f"Triton {triton.__version__}, compute capability {capability}, {limit:,} bytes of shared memory at most")
    print(found.table(limit))
    return 0 if found.fits(limit) else 1


if __name__ == "__main__":
    sys.exit(main())
