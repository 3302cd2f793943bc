from __future__ import annotations

import pytest
import torch

from staf.ops import record_backends
from staf.ops.linear import product_precision
from staf.ops.squared_error import weighted_squared_error
from staf.ops.squared_error.autograd import ones
from staf.ops.squared_error.reference import weighted_squared_error_reference


def given(points, channels, device="cpu"):
    generator = torch.Generator(device).manual_seed(0)

    def draw(*shape):
        return torch.randn(*shape, device=device, generator=generator)

    return draw(points, channels), draw(points, channels), draw(points).abs()


def test_it_is_the_formula():
    prediction, target, weight = given(7, 3)
    expected = sum(w * ((p - y) ** 2).mean() for p, y, w in zip(prediction, target, weight, strict=True))
    torch.testing.assert_close(weighted_squared_error(prediction, target, weight), expected)
    assert weighted_squared_error(prediction.double(), target.double(), weight).dtype == torch.float64


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(1, 1), (4096, 3), (70_001, 3), (20_000, 1)])
def test_the_kernel_and_its_gradients_of_both_orders(size):
    results = []
    for dtype in (torch.float32, torch.float64):
        leaves = [tensor.to(dtype).requires_grad_() for tensor in given(*size, device="cuda")]
        with product_precision("fp32"), record_backends() as ran:
            value = weighted_squared_error(*leaves)
            (plain,) = torch.autograd.grad(3 * value, leaves[0], retain_graph=True)
            first = torch.autograd.grad(value, leaves, create_graph=True)
            second = torch.autograd.grad(sum(g.square().sum() for g in first), leaves)
        assert (("squared_error", "triton") in ran) == (dtype == torch.float32)
        results.append([value, plain, *first, *second])
    for ours, exact in zip(*results, strict=True):
        assert (ours.double() - exact).norm() <= 1e-5 * exact.norm() + 1e-9


@pytest.mark.gpu
def test_a_backward_pass_from_ones_takes_the_gradient_that_is_there():
    prediction, target, weight = given(5000, 3, device="cuda")
    prediction.requires_grad_()
    start = ones(1, prediction.device).view(())
    with product_precision("fp32"):
        value = weighted_squared_error(prediction, target, weight)
        (expected,) = torch.autograd.grad(value, prediction, retain_graph=True)
        (found,) = torch.autograd.grad(value, prediction, start, retain_graph=True)
        assert torch.equal(found, expected)
        (again,) = torch.autograd.grad(value, prediction, start, retain_graph=True)
        assert again.data_ptr() == found.data_ptr()
        start.fill_(3.0)
        (scaled,) = torch.autograd.grad(value, prediction, start)
    torch.testing.assert_close(scaled, 3 * expected)
    with product_precision("fp32"), torch.no_grad():
        assert torch.equal(weighted_squared_error(prediction, target, weight), value)


@pytest.mark.gpu
def test_vmap_is_a_batch_of_networks():
    batch = [torch.stack([tensor, 2 * tensor]) for tensor in given(500, 3, device="cuda")]
    with product_precision("fp32"):
        found = torch.vmap(weighted_squared_error, in_dims=(0, 0, None))(*batch[:2], batch[2][0])
    expected = [weighted_squared_error_reference(*pair, batch[2][0]) for pair in zip(*batch[:2], strict=True)]
    torch.testing.assert_close(found, torch.stack(expected))
