"""Linear layers over many points on a CPU: equal to the formula to the second order, whatever the machine brings."""

from __future__ import annotations

import pytest
import torch

from staf.ops import native, record_backends
from staf.ops.linear import cpu, linear, product_precision
from staf.ops.linear.reference import linear_reference

SIZES = [(1000, 256, 256), (777, 2, 256), (300, 8, 64), (2100, 256, 3), (300, 32, 8), (300, 37, 53), (300, 2, 250)]


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def orders(function, inputs, weights):
    """The value, its gradients, and the gradients of <v, each of those gradients>."""
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    value = function(*leaves)
    first = torch.autograd.grad(value, leaves, weights[0], create_graph=True)
    pairing = sum((one * two).sum() for one, two in zip(first, weights[1:], strict=True))
    second = torch.autograd.grad(pairing, leaves, allow_unused=True)
    return [value, *first, *(tensor for tensor in second if tensor is not None)]


def compare(size, bias=True):
    rows, k, m = size
    inputs = [draw(rows, k), draw(m, k) / k**0.5, *([draw(m)] if bias else [])]
    weights = [draw(rows, m, seed=1), *(draw(*tensor.shape, seed=2) for tensor in inputs)]
    with product_precision("fp32"):
        found = orders(linear, inputs, weights)
    expected = orders(linear_reference, [t.double() for t in inputs], [w.double() for w in weights])
    assert len(found) == len(expected) >= 5
    for mine, true in zip(found, expected, strict=True):
        assert mine.shape == true.shape
        assert float((mine - true).detach().norm()) <= 2e-6 * float(true.detach().norm())


@pytest.mark.parametrize("size", SIZES)
def test_values_gradients_and_second_gradients(size, poisoned):
    compare(size)


def test_without_a_bias():
    compare((300, 2, 64), bias=False)


def test_without_a_compiler_and_without_onednn(monkeypatch):
    monkeypatch.setattr(native, "library", lambda required=False: None)
    monkeypatch.setattr(cpu, "_has_onednn", lambda: False)
    with record_backends() as ran:
        compare((777, 2, 256))
    assert ran == []


@pytest.mark.skipif(native.library() is None, reason="no C compiler here")
def test_thin_sums_run_compiled_and_few_points_do_not():
    with record_backends() as ran:
        cpu.sums(draw(300, 64), draw(300, 2))
        cpu.sums(draw(300, 3), draw(300, 64))
        cpu.sums(draw(300, 64), draw(300, 9))
        cpu.sums(draw(100, 64), draw(100, 2))
    assert ran == [("linear", "compiled")] * 2


def test_the_number_of_threads_does_not_change_a_bit():
    grad, x, weight = draw(5000, 256), draw(5000, 2), draw(256, 2)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append((cpu.product(x, weight, None), *cpu.sums(grad, x), cpu.sums(x, grad)[0]))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_more_dimensions_and_strided_inputs():
    x, weight, bias = draw(2, 32, 300).mT, draw(48, 32), draw(48)
    with product_precision("fp32"):
        torch.testing.assert_close(linear(x, weight, bias), linear_reference(x, weight, bias), rtol=1e-5, atol=1e-5)


def test_torch_func_forward_mode_and_batched_gradients_take_torchs_own_rules():
    x, weight = draw(300, 2), draw(32, 2).requires_grad_()
    with product_precision("fp32"):
        tangent = torch.func.jvp(lambda value: linear(value, weight), (x,), (x,))[1]
        torch.testing.assert_close(tangent, linear_reference(x, weight), rtol=1e-5, atol=1e-5)
        mapped = torch.vmap(lambda value: linear(value, weight))(x.reshape(1, 300, 2))
        torch.testing.assert_close(mapped[0], linear_reference(x, weight), rtol=1e-5, atol=1e-5)
        value = linear(x, weight)
        assert "LayerBackward" in str(value.grad_fn.next_functions)
        several = draw(3, 300, 32)
        (batched,) = torch.autograd.grad(value, weight, several, is_grads_batched=True)
    torch.testing.assert_close(batched, several.mT @ x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_are_torchs_own(dtype):
    x, weight = draw(300, 2).to(dtype), draw(32, 2).to(dtype)
    with product_precision("fp32"):
        assert torch.equal(linear(x, weight), torch.nn.functional.linear(x, weight))
