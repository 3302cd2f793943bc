"""WIRE's wavelet on a GPU: one kernel each way, against the formula in float64."""

from __future__ import annotations

import pytest
import torch

from staf import ops
from staf.ops.gabor import gabor
from staf.ops.gabor.autograd import composed
from staf.ops.gabor.reference import gabor_reference
from staf.ops.linear import product_precision

DOUBLE = {torch.float32: torch.float64, torch.complex64: torch.complex128}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_the_closed_gradient_is_the_formulas(dtype, generator):
    x, window = ((0.1 * torch.randn(40, dtype=dtype, generator=generator)).requires_grad_() for _ in range(2))
    grad = torch.randn(40, dtype=torch.complex128, generator=generator)
    (expected,) = torch.autograd.grad(gabor_reference(x, 30.0, 10.0), x, grad)
    found, nothing = composed(grad, x, 30.0, 10.0)
    torch.testing.assert_close(found, expected)
    assert nothing is None
    expected = torch.autograd.grad(gabor_reference(x, 30.0, 10.0, window), (x, window), grad)
    torch.testing.assert_close(composed(grad, x, 30.0, 10.0, window), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(1,), (3, 1025), (4099, 181)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_value_and_two_gradients_in_poisoned_memory(dtype, size, generator, poisoned):
    x = (0.1 * torch.randn(size, dtype=dtype, generator=generator)).cuda().requires_grad_()
    grad = torch.randn(size, dtype=torch.complex64, generator=generator).cuda()
    exact = x.detach().to(DOUBLE[dtype]).requires_grad_()
    found = {}
    with product_precision("bf16x3"), ops.record_backends() as ran:
        found["value"] = gabor(x, 30.0, 10.0)
        found["gradient"] = torch.autograd.grad(found["value"], x, grad, retain_graph=True)[0]
        (slope,) = torch.autograd.grad(found["value"], x, grad.conj(), create_graph=True)
        found["second"] = torch.autograd.grad(slope.abs().square().sum(), x)[0]
    assert ran == [("gabor", "triton")]
    true = {"value": gabor_reference(exact, 30.0, 10.0)}
    wide = grad.to(torch.complex128)
    true["gradient"] = torch.autograd.grad(true["value"], exact, wide, retain_graph=True)[0]
    (slope,) = torch.autograd.grad(true["value"], exact, wide.conj(), create_graph=True)
    true["second"] = torch.autograd.grad(slope.abs().square().sum(), exact)[0]
    for name, expected in true.items():
        assert (found[name] - expected).detach().norm() < 2e-6 * expected.detach().norm(), name
