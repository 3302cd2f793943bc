"""WIRE against its formula, and the conversion of its complex weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from staf.nn import NETWORKS, Wire
from staf.ops import record_backends
from staf.ops.gabor import gabor
from staf.ops.gabor_network import gabor_network
from staf.ops.linear import product_precision


def test_gabor_is_the_formula(generator: torch.Generator) -> None:
    x = torch.randn(20, dtype=torch.complex128, generator=generator) * 0.1
    y = torch.randn(20, dtype=torch.complex128, generator=generator) * 0.1
    window = torch.exp(-(3.0 * x).abs().square())
    assert torch.allclose(gabor(x, 5.0, 3.0), torch.exp(1j * 5.0 * x) * window)
    planar = torch.exp(1j * 5.0 * x) * window * torch.exp(-(3.0 * y).abs().square())
    assert torch.allclose(gabor(x, 5.0, 3.0, y), planar)
    assert torch.allclose(gabor(x.real, 5.0, 3.0), gabor(x.real + 0j, 5.0, 3.0))


@pytest.mark.parametrize("planar", [False, True])
def test_widths(planar: bool) -> None:
    field = NETWORKS["wire"].factory(2, 3, width=256, planar=planar, device="meta")
    assert field.layers[1].weight.shape == ((128, 128) if planar else (181, 181))


def test_conversion_keeps_imaginary_parts() -> None:
    field = Wire(2, 3, width=6)
    wrapped = nn.Sequential(field)
    imaginary = field.layers[1].weight.imag.clone()
    assert imaginary.abs().max() > 0
    wrapped.to(torch.float64)
    assert field.layers[1].weight.dtype == torch.complex128
    assert field.layers[0].weight.dtype == torch.float64
    assert torch.equal(field.layers[1].weight.imag.float(), imaginary)
    assert isinstance(field.layers[1].weight, nn.Parameter)
    wrapped.float()
    assert field.layers[1].weight.dtype == torch.complex64


def test_no_complex_twin_no_conversion() -> None:
    with pytest.raises(TypeError, match="bfloat16"):
        Wire(2, 3, width=6).to(torch.bfloat16)
    with pytest.raises(TypeError, match="dtype must be"):
        Wire(2, 3, width=6, dtype=torch.bfloat16)


def test_zero_has_finite_second_derivatives() -> None:
    """|x| has none there."""
    x = torch.zeros(1, dtype=torch.complex128, requires_grad=True)
    (first,) = torch.autograd.grad(gabor(x, 3.0, 2.0).real.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.real.sum(), x)
    assert torch.isfinite(torch.view_as_real(second)).all()
    assert second.real.item() == pytest.approx(-(3.0**2) - 2 * 2.0**2)


@pytest.mark.parametrize("planar", [False, True])
def test_its_tensors_make_the_same_network_and_more_inputs_have_no_effect(planar: bool) -> None:
    field = Wire(3, 4, width=6, depth=3, omega0=5.0, hidden_omega0=4.0, sigma0=3.0, planar=planar)
    x = torch.rand(7, 3) * 2 - 1
    assert field.fused(x) is None
    for spare in (0, 13):
        more = torch.cat([x, torch.ones(7, spare)], -1)
        found = gabor_network(more, field._tensors(spare), field.output.weight, field.output.bias, [5.0, 4.0, 4.0], 3.0)
        torch.testing.assert_close(found, field(x))


@pytest.mark.gpu
@pytest.mark.parametrize("planar", [False, True])
def test_on_a_gpu_it_is_one_operation_unless_someone_looks_between_its_layers(planar: bool) -> None:
    field = Wire(2, 3, width=33, depth=3, omega0=4.0, hidden_omega0=4.0, sigma0=3.0, planar=planar).cuda()
    x = torch.rand(500, 2).cuda() * 2 - 1
    exact = field(x)
    with product_precision("tf32"), record_backends() as ran:
        found, some = field(x), field.fused(x, 2)
    assert ran == [("gabor_network", "triton")] * 2
    torch.testing.assert_close(found, exact, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(some, exact[:, :2], rtol=1e-2, atol=1e-2)
    with product_precision("fp32"), record_backends() as ran:
        torch.testing.assert_close(field(x), exact, rtol=1e-4, atol=1e-4)
    assert ("gabor_network", "triton") not in ran

    seen: list[torch.Tensor] = []
    handle = field.layers[1].register_forward_hook(lambda module, given, out: seen.append(out))
    with product_precision("tf32"), record_backends() as ran:
        torch.testing.assert_close(field(x), exact, rtol=1e-2, atol=1e-2)
    handle.remove()
    assert len(seen) == 1
    assert ("complex_linear", "triton") in ran


@pytest.mark.gpu
def test_derivatives_by_coordinates_are_those_of_single_operations() -> None:
    field = Wire(2, 1, width=32, depth=3, omega0=4.0, hidden_omega0=4.0, sigma0=3.0).cuda()
    x = (torch.rand(300, 2).cuda() * 2 - 1).requires_grad_()
    exact = field(x)
    (expected,) = torch.autograd.grad(exact.sum(), x, create_graph=True)
    weights = list(field.parameters())
    bent = torch.autograd.grad(expected.square().sum(), weights, allow_unused=True)
    with product_precision("bf16x3"), record_backends() as ran:
        (found,) = torch.autograd.grad(field(x).sum(), x, create_graph=True)
        again = torch.autograd.grad(found.square().sum(), weights, allow_unused=True)
    assert ("complex_linear", "triton") in ran
    assert ("gabor_network", "triton") not in ran
    assert (found - expected).norm() < 1e-3 * expected.norm()
    for ours, theirs in zip(again, bent, strict=True):
        assert (ours is None) == (theirs is None)
        assert theirs is None or (ours - theirs).norm() < 1e-2 * theirs.norm()
