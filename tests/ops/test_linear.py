from __future__ import annotations

import pytest
import torch
from torch.nn.functional import linear as torch_linear

from staf.ops import record_backends
from staf.ops.linear import current_precision, linear, product_precision
from staf.ops.linear.reference import linear_reference
from tests.ops.captured import assert_captured_equals_plain

TOLERANCE = {"fp32": 1e-5, "bf16x3": 3e-5, "tf32": 3e-3}


def test_outside_a_block_it_is_torchs_own_bit_by_bit():
    x, weight, bias = torch.rand(5, 7), torch.rand(3, 7), torch.rand(3)
    assert current_precision() is None
    assert torch.equal(linear(x, weight, bias), torch_linear(x, weight, bias))
    torch.testing.assert_close(linear(x, weight, bias), linear_reference(x, weight, bias))


@pytest.mark.parametrize("precision", TOLERANCE)
def test_on_the_cpu_a_block_changes_nothing(precision):
    x, weight = torch.rand(5, 7), torch.rand(3, 7)
    with product_precision(precision):
        assert torch.equal(linear(x, weight), torch_linear(x, weight))


def test_blocks_nest_and_unknown_names_are_refused():
    with product_precision("tf32"):
        with product_precision("bf16x3"):
            assert current_precision() == "bf16x3"
        assert current_precision() == "tf32"
    with pytest.raises(ValueError, match="fp32, bf16x3, tf32, got 'fp8'"), product_precision("fp8"):
        pass


@pytest.mark.gpu
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize(
    "size",
    [
        (1000, 256, 256),
        (20_000, 256, 256),
        (777, 2, 256),
        (777, 6, 256),
        (4096, 256, 3),
        (900, 300, 2),
        (130, 37, 53),
        (130, 37, 12),
        (5, 3, 7),
        (0, 16, 16),
    ],
)
def test_values_gradients_and_second_gradients(size, precision):
    rows, inputs, outputs = size
    generator = torch.Generator("cuda").manual_seed(0)

    def draw(*shape):
        return torch.randn(*shape, device="cuda", generator=generator)

    given = [draw(rows, inputs), draw(outputs, inputs), draw(outputs)]
    weights = [draw(rows, outputs), draw(rows, inputs), draw(outputs, inputs), draw(outputs)]
    results = []
    for dtype in (torch.float32, torch.float64):
        x, weight, bias = (tensor.to(dtype).requires_grad_() for tensor in given)
        with product_precision(precision), record_backends() as ran:
            y = linear(x, weight, bias)
        assert (("linear", "triton") in ran) == (dtype == torch.float32)
        first = torch.autograd.grad(y, (x, weight, bias), weights[0].to(dtype), create_graph=True)
        mixed = sum((g * h.to(dtype)).sum() for g, h in zip(first, weights[1:], strict=True))
        second = torch.autograd.grad(mixed, (x, weight))
        results.append([y, *first, *second])
    for ours, exact in zip(*results, strict=True):
        if exact.numel():
            assert (ours.double() - exact).norm() <= TOLERANCE[precision] * exact.norm()


@pytest.mark.gpu
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("size", [(300, 64, 64), (300, 2, 64), (300, 64, 3)])
def test_tensors_may_have_any_strides(size, precision):
    rows, inputs, outputs = size
    x, weight = torch.randn(inputs, rows, device="cuda").T, torch.randn(outputs, 2 * inputs, device="cuda")[:, ::2]
    bias = torch.randn(outputs, 2, device="cuda")[:, 0]
    with product_precision(precision):
        found = linear(x, weight, bias)
    true = linear_reference(*(tensor.double() for tensor in (x, weight, bias)))
    assert (found - true).norm() <= TOLERANCE[precision] * true.norm()


@pytest.mark.gpu
def test_vmap_is_a_batch_of_networks():
    x, weight, bias = (torch.randn(*s, device="cuda") for s in ((4, 50, 256), (4, 64, 256), (4, 64)))
    with product_precision("bf16x3"):
        own = torch.vmap(linear)(x, weight, bias)
        shared = torch.vmap(linear, in_dims=(None, 0, 0))(x[0], weight, bias)
    torch.testing.assert_close(own, torch.baddbmm(bias[:, None], x, weight.mT), atol=2e-3, rtol=1e-4)
    torch.testing.assert_close(shared[0], own[0])


@pytest.mark.gpu
@pytest.mark.parametrize("precision", TOLERANCE)
def test_many_points_of_several_networks_are_those_of_each(precision):
    generator = torch.Generator("cuda").manual_seed(0)
    given = [torch.randn(*s, device="cuda", generator=generator) for s in ((3, 9000, 256), (3, 256, 256), (3, 256))]
    leaves = [tensor.requires_grad_() for tensor in given]
    with product_precision(precision):
        y = torch.vmap(linear)(*leaves)
    gradients = torch.autograd.grad(y.square().sum(), leaves)
    x, weight, bias = exact = [tensor.detach().double().requires_grad_() for tensor in given]
    expected = torch.baddbmm(bias[:, None], x, weight.mT)
    for ours, true in zip(
        (y, *gradients), (expected, *torch.autograd.grad(expected.square().sum(), exact)), strict=True
    ):
        assert (ours.double() - true).norm() <= TOLERANCE[precision] * true.norm()


@pytest.mark.gpu
def test_coordinates_are_exact_and_runs_repeat_bit_by_bit():
    x, weight = torch.rand(70_000, 2, device="cuda"), torch.randn(256, 2, device="cuda", requires_grad=True)
    runs = []
    for _ in range(2):
        with product_precision("tf32"):
            y = linear(x, weight)
        runs.append((y, *torch.autograd.grad(y.square().sum(), weight)))
    exact = x.double() @ weight.double().T
    assert (runs[0][0] - exact).abs().max() < 1e-6
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("users", ["none", "ieee", "tf32"])
@pytest.mark.parametrize(("precision", "error"), [("fp32", 1e-4), ("tf32", 1e-1)])
def test_products_by_the_library_have_their_precision_and_leave_the_users(users, precision, error):
    library = torch.backends.cuda.matmul
    x, weight = torch.randn(40_000, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    exact = x.double() @ weight.double().T
    before = library.fp32_precision
    try:
        library.fp32_precision = users
        with product_precision(precision):
            off = (linear(x, weight) - exact).abs().max()
        assert library.fp32_precision == users
    finally:
        library.fp32_precision = before
    assert off < error
    assert (off > 1e-3) == (precision == "tf32")


@pytest.mark.gpu
def test_a_captured_backward_pass_with_its_branch_is_the_plain_one():
    x, weight, bias = (torch.randn(*s, device="cuda") for s in ((4096, 256), (256, 256), (256,)))
    leaves = [tensor.requires_grad_() for tensor in (x, weight, bias)]

    def step():
        with product_precision("tf32"):
            return torch.autograd.grad(linear(linear(*leaves), *leaves[1:]).square().sum(), leaves)

    assert_captured_equals_plain(step)
