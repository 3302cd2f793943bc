"""WIRE against its formula, and the conversion of its complex weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from staf.nn import NETWORKS, Wire
from staf.ops.gabor import gabor


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
