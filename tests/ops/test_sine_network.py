"""A whole sine network as one operation: the composition everywhere, and fused kernels on a Hopper GPU."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from staf import nn as networks_of
from staf import ops
from staf.ops.linear import linear, product_precision
from staf.ops.sine_network import is_fused
from staf.ops.sine_network.reference import sine_network_reference
from tests.ops.captured import assert_captured_equals_plain

# networks, points, inputs, width, layers, outputs, terms
SIZES = [
    (1, 1, 1, 64, 2, 1, 1),
    (1, 700, 2, 64, 3, 3, 5),
    (1, 4097, 2, 256, 4, 3, 5),
    (1, 20_011, 3, 192, 3, 2, 3),
    (1, 17_001, 2, 128, 2, 4, 8),
    (1, 16_500, 2, 512, 3, 3, 2),
    (3, 901, 2, 128, 3, 3, 5),
    (5, 8_200, 2, 256, 4, 3, 5),
]
# The relative error (of norms) that values and gradients may have: products have 4e-6 and 3e-4, and the sines' slopes
# carry it from layer to layer.
TOLERANCE = {"bf16x3": 5e-5, "tf32": 5e-3}


def tensors(networks, points, inputs, width, depth, outputs, terms, *, device="cpu", seed=0):
    """x, the layers' tensors and the output layer's, with angles as a network has them when training starts."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    layers = []
    for index in range(depth):
        k = inputs if index == 0 else width
        weight = (2 * torch.rand(networks, width, k, generator=generator) - 1) * (
            1 / k if index == 0 else (6 / k) ** 0.5 / 20
        )
        sinusoids = (normal(networks, 1, terms) / terms, 10 + 20 * torch.rand(networks, 1, terms, generator=generator))
        layers.append((weight, 0.05 * normal(networks, width), *sinusoids, normal(networks, 1, terms)))
    x = 2 * torch.rand(networks, points, inputs, generator=generator) - 1
    ends = (normal(networks, outputs, width) / width**0.5, normal(networks, outputs))
    return (
        x.to(device),
        [tuple(tensor.to(device).requires_grad_() for tensor in layer) for layer in layers],
        *(tensor.to(device).requires_grad_() for tensor in ends),
    )


def single(x, layers, weight, bias):
    """The same for one network, without the leading axis."""
    flat = [tuple(t[0] if i < 2 else t[0, 0] for i, t in enumerate(layer)) for layer in layers]
    return (
        x[0],
        [tuple(t.detach().requires_grad_() for t in layer) for layer in flat],
        *(t[0].detach().requires_grad_() for t in (weight, bias)),
    )


def flat(layers, weight, bias):
    return [tensor for layer in layers for tensor in layer] + [weight, bias]


def exact(x, layers, weight, bias):
    doubled = [tuple(t.detach().double().requires_grad_() for t in layer) for layer in layers]
    ends = [t.detach().double().requires_grad_() for t in (weight, bias)]
    return sine_network_reference(x.double(), doubled, *ends), flat(doubled, *ends)


def relative(found: Tensor, expected: Tensor) -> float:
    assert found.shape == expected.shape
    return float((found.double() - expected).detach().norm() / expected.detach().norm().clamp(min=1e-30))


def test_it_is_its_layers_one_after_the_other():
    x, layers, weight, bias = single(*tensors(1, 50, 2, 64, 3, 3, 5))
    found = ops.sine_network(x, layers, weight, bias)
    z = x
    for w, b, *sinusoids in layers:
        z = ops.sine_series(linear(z, w, b), *sinusoids)
    assert torch.equal(found, linear(z, weight, bias))
    assert ops.sine_network(x.view(5, 10, 2), layers, weight, bias).shape == (5, 10, 3)


def test_the_reference_is_the_formula():
    x, layers, weight, bias = tensors(2, 7, 2, 64, 2, 3, 3)
    found = sine_network_reference(x, layers, weight, bias)
    for network in range(2):
        alone = ops.sine_network(
            *(
                x[network],
                [tuple(t[network] if i < 2 else t[network, 0] for i, t in enumerate(layer)) for layer in layers],
            ),
            weight[network],
            bias[network],
        )
        assert torch.allclose(found[network], alone, atol=1e-5)


def test_nothing_is_fused_on_a_cpu():
    x, layers, weight, bias = single(*tensors(1, 50, 2, 64, 3, 3, 5))
    with product_precision("bf16x3"):
        assert not is_fused(x, layers, weight, bias)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["bf16x3", "tf32"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_and_gradients_of_odd_sizes_in_poisoned_memory(size, precision, poisoned):
    from staf.ops.sine_network.autograd import SineNetwork

    x, layers, weight, bias = tensors(*size, device="cuda")
    expected, exact_inputs = exact(x, layers, weight, bias)
    found = SineNetwork.apply(precision, True, None, x, *flat(layers, weight, bias))[0]
    assert relative(found, expected) < TOLERANCE[precision]
    without = SineNetwork.forward(precision, False, None, x, *flat(layers, weight, bias))[0]
    assert torch.equal(found, without)
    # Gradients of a mean over many points are this small.
    grad = 1e-6 * torch.randn(found.shape, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    mine = torch.autograd.grad(found, flat(layers, weight, bias), grad)
    true = torch.autograd.grad(expected, exact_inputs, grad.double())
    for a, b in zip(mine, true, strict=True):
        assert relative(a, b) < 10 * TOLERANCE[precision]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["bf16x3", "tf32"])
@pytest.mark.parametrize("width", [256, 1024])
def test_values_of_few_points_have_the_same_bits_in_every_run_and_on_every_stream(width, precision):
    """Of 256 columns the last program of a row adds up all shares, of 1,024 another kernel does."""
    from staf.ops.sine_network.autograd import SineNetwork

    x, layers, weight, bias = tensors(1, 4_001, 2, width, 3, 3, 5, device="cuda")
    tensor_list = flat(layers, weight, bias)
    expected = SineNetwork.forward(precision, False, None, x, *tensor_list)[0]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(2)]
    found = []
    for run in range(200):
        with torch.cuda.stream(streams[run % 2]):
            found.append(SineNetwork.forward(precision, False, None, x, *tensor_list)[0])
    torch.cuda.synchronize()
    assert all(torch.equal(one, expected) for one in found)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["bf16x3", "tf32"])
def test_it_is_as_close_as_the_single_operations(precision):
    x, layers, weight, bias = single(*tensors(1, 20_000, 2, 256, 4, 3, 5, device="cuda"))
    expected, _ = exact(
        x[None],
        [tuple(t[None] if i < 2 else t[None, None] for i, t in enumerate(layer)) for layer in layers],
        weight[None],
        bias[None],
    )
    with product_precision(precision):
        with ops.record_backends() as ran:
            fused = ops.sine_network(x, layers, weight, bias)
        z = x
        for w, b, *sinusoids in layers:
            z = ops.sine_series(linear(z, w, b), *sinusoids)
        apart = linear(z, weight, bias)
    assert ran == [("sine_network", "triton")]
    assert relative(fused[None], expected) < 1.5 * relative(apart[None], expected)


@pytest.mark.gpu
def test_second_gradients_and_gradients_by_coordinates():
    x, layers, weight, bias = single(*tensors(1, 300, 2, 64, 3, 3, 5, device="cuda"))
    inputs = flat(layers, weight, bias)
    doubled = [tuple(t.detach().double().requires_grad_() for t in layer) for layer in layers]
    ends = [t.detach().double().requires_grad_() for t in (weight, bias)]
    wide = [tuple(t[None] if i < 2 else t[None, None] for i, t in enumerate(layer)) for layer in doubled]

    def second(value, arguments):
        first = torch.autograd.grad((value**2).sum(), arguments, create_graph=True)
        return first, torch.autograd.grad(sum((g**2).sum() for g in first), arguments)

    with product_precision("bf16x3"):
        found = second(ops.sine_network(x, layers, weight, bias), inputs)
        moved = x.clone().requires_grad_()
        slope = torch.autograd.grad(ops.sine_network(moved, layers, weight, bias).sum(), moved)[0]
    value = sine_network_reference(x.double()[None], wide, ends[0][None], ends[1][None])
    expected = second(value, flat(doubled, *ends))
    for mine, true in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
        assert relative(mine, true) < 1e-3
    exact_moved = x.double()[None].requires_grad_()
    value = sine_network_reference(exact_moved, wide, ends[0][None], ends[1][None])
    assert relative(slope, torch.autograd.grad(value.sum(), exact_moved)[0][0]) < 1e-4


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["bf16x3", "tf32"])
def test_vmap_is_each_network_alone(precision):
    x, layers, weight, bias = tensors(3, 500, 2, 128, 3, 3, 5, device="cuda")

    def one(x, weight, bias, *flat_layers):
        made = [
            tuple(t if i < 2 else t[0] for i, t in enumerate(flat_layers[k : k + 5]))
            for k in range(0, len(flat_layers), 5)
        ]
        return ops.sine_network(x, made, weight, bias)

    rest = [t for layer in layers for t in layer]
    with product_precision(precision), ops.record_backends() as ran:
        together = torch.vmap(one)(x, weight, bias, *rest)
        gradients = torch.autograd.grad(together.square().sum(), [weight, *rest])
    assert ("sine_network", "triton") in ran
    with product_precision(precision):
        for network in range(3):
            alone = one(x[network], weight[network], bias[network], *(t[network] for t in rest))
            assert relative(together[network], alone.double()) < 1e-6
            single_gradients = torch.autograd.grad(alone.square().sum(), [weight, *rest])
            for mine, true in zip(gradients, single_gradients, strict=True):
                assert relative(mine[network], true[network].double()) < TOLERANCE[precision]


@pytest.mark.gpu
@pytest.mark.parametrize("points", [4_000, 20_000])
@pytest.mark.parametrize("precision", ["bf16x3", "tf32"])
def test_a_step_has_the_same_bits_in_a_captured_graph(precision, points):
    x, layers, weight, bias = single(*tensors(1, points, 2, 256, 4, 3, 5, device="cuda"))
    inputs = flat(layers, weight, bias)

    def step():
        with product_precision(precision):
            return torch.autograd.grad(ops.sine_network(x, layers, weight, bias).square().sum(), inputs)

    assert_captured_equals_plain(step)


@pytest.mark.gpu
def test_gradients_of_any_size_survive_ten_bits():
    x, layers, weight, bias = single(*tensors(1, 3000, 2, 128, 3, 3, 5, device="cuda"))
    inputs = flat(layers, weight, bias)
    with product_precision("tf32"):
        value = ops.sine_network(x, layers, weight, bias)
        plain = torch.autograd.grad(value.sum(), inputs, retain_graph=True)
        for scale in (2.0**-60, 2.0**40):
            scaled = torch.autograd.grad(value.sum() * scale, inputs, retain_graph=True)
            for mine, true in zip(scaled, plain, strict=True):
                assert relative(mine.double() / scale, true.double()) < 1e-5
        nothing = torch.autograd.grad(value.sum() * 0, inputs)
    assert all(bool((g == 0).all()) for g in nothing)


@pytest.mark.gpu
def test_networks_use_it_unless_someone_looks_between_the_layers():
    for field in (networks_of.staf(2, 3, width=64, depth=3), networks_of.siren(2, 3, width=64, depth=3)):
        field = field.cuda()
        x = torch.rand(500, 2, device="cuda")
        with product_precision("bf16x3"):
            with ops.record_backends() as ran:
                fused = field(x)
            assert ran == [("sine_network", "triton")]
            handle = field.layers[1].register_forward_hook(lambda *_: None)
            with ops.record_backends() as ran:
                apart = field(x)
            handle.remove()
        assert ("sine_network", "triton") not in ran
        assert relative(fused, apart.double()) < 1e-5
        (fused.square().sum()).backward()
        assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in field.parameters())
