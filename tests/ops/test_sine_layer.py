"""The layer on coordinates is the linear layer and the series above it, whichever kernels run."""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call

from staf import ops
from staf.nn import staf
from staf.ops.linear import linear, product_precision


def _given(points, inputs, width, terms, device="cpu", dtype=torch.float32, networks=()):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*networks, *shape, generator=generator, dtype=torch.float64).to(device, dtype)

    x = torch.rand(*networks, points, inputs, generator=generator, dtype=torch.float64).to(device, dtype) * 2 - 1
    sinusoids = (0.3 * normal(terms), 30 * normal(terms), normal(terms))
    return x, 3 * normal(width, inputs), normal(width), *sinusoids


def _composed(x, weight, bias, *sinusoids):
    return ops.sine_series(linear(x, weight, bias), *sinusoids)


def test_on_a_cpu_it_is_the_two_layers():
    tensors = _given(40, 2, 16, 3)
    assert torch.equal(ops.sine_layer(*tensors), _composed(*tensors))


SIZES = [(1000, 2, 256, 5), (37, 3, 128, 1), (20_000, 1, 256, 2), (513, 4, 512, 8)]


@pytest.mark.gpu
@pytest.mark.parametrize("size", SIZES)
def test_values_and_gradients_are_those_of_the_formula(size):
    exact = [t.requires_grad_(i > 0) for i, t in enumerate(_given(*size, "cuda", torch.float64))]
    given = [t.detach().float().requires_grad_(i > 0) for i, t in enumerate(exact)]
    direction = torch.randn(size[0], size[2], device="cuda", dtype=torch.float64)
    wanted = _composed(*exact)
    wanted_gradients = torch.autograd.grad((wanted * direction).sum(), exact[1:])
    with product_precision("bf16x3"), ops.record_backends() as ran:
        value = ops.sine_layer(*given)
        gradients = torch.autograd.grad((value * direction.float()).sum(), given[1:])
        alone = _composed(*given)
        alone_gradients = torch.autograd.grad((alone * direction.float()).sum(), given[1:])
    assert ("sine_layer", "triton") in ran
    # Rounding of x W^T + b, at 30 and more radians a unit, is the same in both; the fused pass adds nothing to it.
    assert (value - alone).abs().max() <= 2e-6 * exact[3].abs().sum()
    assert (value - wanted).abs().max() <= 2 * (alone - wanted).abs().max()
    for gradient, other, want in zip(gradients, alone_gradients, wanted_gradients, strict=True):
        assert gradient.shape == want.shape
        scale = want.abs().max()
        assert (gradient - want).abs().max() / scale <= max(2 * (other - want).abs().max() / scale, 1e-5)


@pytest.mark.gpu
def test_second_gradients_and_gradients_by_x_are_those_of_the_two_layers():
    given = [t.requires_grad_(i > 0) for i, t in enumerate(_given(300, 2, 128, 3, "cuda"))]
    direction = torch.randn(300, 128, device="cuda")

    def second(layer):
        first = torch.autograd.grad((layer(*given) * direction).sum(), given[1:], create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), given[1:])

    with product_precision("bf16x3"):
        for fused, alone in zip(second(ops.sine_layer), second(_composed), strict=True):
            assert torch.allclose(fused, alone, rtol=1e-3, atol=1e-4 * float(alone.abs().max()))
        given[0].requires_grad_(True)
        by_x = [torch.autograd.grad((f(*given) * direction).sum(), given[0])[0] for f in (ops.sine_layer, _composed)]
    assert torch.equal(*by_x)


@pytest.mark.gpu
@pytest.mark.parametrize("points", [700, 40_000])
def test_vmap_is_a_batch_of_networks(points):
    given = _given(points, 2, 256, 5, "cuda", networks=(3,))
    given = [t.requires_grad_(i > 0) for i, t in enumerate(given)]
    with product_precision("tf32"):
        together = torch.vmap(ops.sine_layer)(*given)
        gradients = torch.autograd.grad(together.square().sum(), given[1:])
        for network in range(3):
            own = [t[network].detach().requires_grad_(i > 0) for i, t in enumerate(given)]
            value = ops.sine_layer(*own)
            assert torch.equal(value, together[network])
            for alone, all_of_them in zip(torch.autograd.grad(value.square().sum(), own[1:]), gradients, strict=True):
                assert torch.allclose(alone, all_of_them[network], rtol=1e-4, atol=1e-5 * float(alone.abs().max()))


@pytest.mark.gpu
@pytest.mark.parametrize("points", [500, 20_000])
def test_hidden_layers_of_several_networks_are_those_of_each(points):
    x, weight, bias, c, omega, phi = _given(points, 256, 256, 5, "cuda", networks=(3,))
    given = [t.requires_grad_() for t in (x, weight / 100, bias, c, omega / 30, phi)]
    direction = torch.randn(3, points, 256, device="cuda")

    def computed(layer):
        with product_precision("tf32"), ops.record_backends() as ran:
            value = torch.vmap(layer)(*given)
            gradients = torch.autograd.grad((value * direction).sum(), given)
        return [value, *gradients], ran

    together, ran = computed(ops.sine_layer)
    apart, others = computed(_composed)
    # Of few points the two operations are faster.
    assert (("sine_layer", "triton") in ran) == (points == 20_000)
    assert ("sine_layer", "triton") not in others
    exact = [t.detach().double().requires_grad_() for t in given]
    value = torch.vmap(_composed)(*exact)
    true = [value, *torch.autograd.grad((value * direction).sum(), exact)]
    for mine, other, want in zip(together, apart, true, strict=True):
        assert mine.shape == want.shape
        assert (mine - want).abs().mean() <= 1.2 * (other - want).abs().mean() + 1e-7 * want.abs().max()


@pytest.mark.gpu
def test_second_gradients_of_hidden_layers_of_several_networks():
    x, weight, bias, c, omega, phi = _given(6000, 128, 128, 3, "cuda", networks=(3,))
    given = [t.requires_grad_() for t in (x, weight / 100, bias, c, omega / 30, phi)]

    def second(layer):
        with product_precision("tf32"):
            first = torch.autograd.grad(torch.vmap(layer)(*given).square().sum(), given, create_graph=True)
            return torch.autograd.grad(sum(g.square().sum() for g in first), given)

    for fused, alone in zip(second(ops.sine_layer), second(_composed), strict=True):
        assert (fused - alone).abs().mean() <= 2e-3 * alone.abs().mean()


@pytest.mark.gpu
def test_hooks_of_a_network_see_each_layer():
    field = staf(2, 3, width=128, depth=2, generator=torch.Generator().manual_seed(0)).cuda()
    points = torch.rand(500, 2, device="cuda")
    seen = []
    with product_precision("bf16x3"):
        with ops.record_backends() as ran:
            fused = field(points)
        assert ran == [("sine_network", "triton")]
        handle = field.layers[0].register_forward_hook(lambda *_: seen.append(1))
        with ops.record_backends() as ran:
            alone = field(points)
        handle.remove()
        batched = torch.vmap(lambda p: functional_call(field, dict(field.named_parameters()), (p,)))(points[None])
    assert seen == [1]
    assert ("sine_network", "triton") not in ran
    assert torch.allclose(fused, alone, atol=1e-5)
    assert torch.allclose(fused, batched[0], atol=1e-5)


@pytest.mark.gpu
def test_runs_repeat_bit_by_bit():
    given = [t.requires_grad_(i > 0) for i, t in enumerate(_given(50_000, 2, 256, 5, "cuda"))]
    with product_precision("bf16x3"):
        runs = [torch.autograd.grad(ops.sine_layer(*given).square().sum(), given[1:]) for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))
