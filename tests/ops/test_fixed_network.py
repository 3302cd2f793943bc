"""Networks of FINER's and Gauss' activation as one operation: the composition everywhere, fused on a Hopper GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from staf import nn as networks_of
from staf import ops
from staf.ops.linear import linear, product_precision
from staf.ops.sine_network import is_fixed_fused
from tests.ops.captured import assert_captured_equals_plain
from tests.ops.test_sine_network import TOLERANCE, relative

CONSTANTS = {"finer": (ops.finer, 30.0), "gauss": (ops.gauss, 10.0)}


def drawn(points: int, width: int, depth: int, device: str = "cpu") -> tuple[Tensor, list[Tensor]]:
    """Coordinates, then weight and bias of each layer and of the output."""
    generator = torch.Generator().manual_seed(points)
    flat = []
    for k in (2, *[width] * (depth - 1)):
        bound = 1 / k if k == 2 else (6 / k) ** 0.5 / 30
        flat += [
            bound * (2 * torch.rand(width, k, generator=generator) - 1),
            torch.randn(width, generator=generator) / 20,
        ]
    flat += [torch.randn(3, width, generator=generator) / width**0.5, torch.randn(3, generator=generator)]
    x = 2 * torch.rand(points, 2, generator=generator) - 1
    return x.to(device), [tensor.to(device).requires_grad_() for tensor in flat]


def run(x: Tensor, flat: list[Tensor], name: str) -> Tensor:
    phi, constant = CONSTANTS[name]
    layers = [(flat[i], flat[i + 1]) for i in range(0, len(flat) - 2, 2)]
    return ops.fixed_network(x, layers, *flat[-2:], phi, [constant] * len(layers))


def exact(x: Tensor, flat: list[Tensor], name: str) -> tuple[Tensor, list[Tensor]]:
    """The formula in float64."""
    phi, constant = CONSTANTS[name]
    doubled = [tensor.detach().double().requires_grad_() for tensor in flat]
    z = x.double()
    with ops.backend("reference"):
        for index in range(0, len(doubled) - 2, 2):
            z = phi(z @ doubled[index].T + doubled[index + 1], constant)
    return z @ doubled[-2].T + doubled[-1], doubled


@pytest.mark.parametrize("name", CONSTANTS)
def test_it_is_its_layers_one_after_the_other(name):
    x, flat = drawn(50, 64, 3)
    phi, constant = CONSTANTS[name]
    z = x
    for index in range(0, len(flat) - 2, 2):
        z = phi(linear(z, flat[index], flat[index + 1]), constant)
    assert torch.equal(run(x, flat, name), linear(z, *flat[-2:]))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "precision"), [("finer", "bf16x3"), ("gauss", "bf16x3"), ("gauss", "tf32")])
@pytest.mark.parametrize(("points", "width"), [(700, 64), (4_097, 256), (20_011, 192)])
def test_values_and_gradients(name, precision, points, width, poisoned):
    x, flat = drawn(points, width, 4, "cuda")
    true, doubled = exact(x, flat, name)
    with product_precision(precision), ops.record_backends() as ran:
        found = run(x, flat, name)
    assert ran == [("sine_network", "triton")]
    assert relative(found, true) < TOLERANCE[precision]
    grad = 1e-6 * torch.randn(found.shape, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    mine = torch.autograd.grad(found, flat, grad)
    for a, b in zip(mine, torch.autograd.grad(true, doubled, grad.double()), strict=True):
        assert relative(a, b) < 10 * TOLERANCE[precision]


@pytest.mark.gpu
@pytest.mark.parametrize("name", CONSTANTS)
def test_second_gradients_and_captured_steps(name):
    x, flat = drawn(300, 64, 3, "cuda")
    true, doubled = exact(x, flat, name)

    def second(value: Tensor, given: list[Tensor]) -> tuple[Tensor, ...]:
        first = torch.autograd.grad((value**2).sum(), given, create_graph=True)
        return torch.autograd.grad(sum((g**2).sum() for g in first), given)

    def step() -> tuple[Tensor, ...]:
        with product_precision("bf16x3"):
            return torch.autograd.grad(run(x, flat, name).square().sum(), flat)

    with product_precision("bf16x3"):
        found = second(run(x, flat, name), flat)
    for mine, expected in zip(found, second(true, doubled), strict=True):
        assert relative(mine, expected) < 1e-3
    assert_captured_equals_plain(step)


@pytest.mark.gpu
def test_networks_use_it_and_finer_only_where_its_slopes_fit():
    x = torch.rand(500, 2, device="cuda")
    for make in (networks_of.finer, networks_of.gauss):
        field = make(2, 3, width=64, depth=3).cuda()
        with product_precision("bf16x3"):
            with ops.record_backends() as ran:
                fused = field(x)
            assert ran == [("sine_network", "triton")]
            handle = field.layers[1].register_forward_hook(lambda *_: None)
            apart = field(x)
            handle.remove()
        # Gauss' network makes four times as much of what products leave as SIREN's.
        assert relative(fused, apart.double()) < 1e-4
    _, flat = drawn(500, 64, 3, "cuda")
    layers = [(flat[i], flat[i + 1]) for i in range(0, len(flat) - 2, 2)]
    with product_precision("tf32"):
        assert not is_fixed_fused(x, layers, *flat[-2:], ops.finer, [30.0] * 3)
        assert is_fixed_fused(x, layers, *flat[-2:], ops.gauss, [10.0] * 3)
