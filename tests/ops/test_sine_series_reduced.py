"""Sines beside products of ten bits: which calls have them, and how far off they are."""

from __future__ import annotations

import sys

import pytest
import torch

from staf import ops
from staf.ops.linear import product_precision
from staf.ops.sine_series import autograd, loop

TERMS = 9


def inputs(largest: float, device: str, points: int = 700):
    """Numbers in [-1, 1] and a set of sinusoids whose largest angle is about `largest`, the first one far ahead."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(points, 64, generator=generator) * 2 - 1
    amplitude = torch.full((TERMS,), 1e-3)
    amplitude[0] = 1.0
    frequency = (largest - 3) * torch.rand(TERMS, generator=generator)
    frequency[0] = largest - 3
    phase = 2 * torch.rand(TERMS, generator=generator) - 1
    return [tensor.to(device).requires_grad_() for tensor in (x, amplitude, frequency, phase)]


@pytest.mark.parametrize(("precision", "name"), [("tf32", "reduced"), ("bf16x3", "triton"), ("fp32", "triton")])
def test_the_precision_of_products_chooses_the_sine_and_backward_follows(monkeypatch, precision, name):
    asked = []

    def kernels(backend, tensors):
        asked.append(backend)
        return loop

    monkeypatch.setattr(sys.modules["staf.ops.sine_series"], "choose", lambda operation, x: "triton")
    monkeypatch.setattr(autograd, "kernels", kernels)
    tensors = inputs(3.0, "cpu", 2)
    with product_precision(precision):
        value = ops.sine_series(*tensors)
    with product_precision("tf32" if precision == "fp32" else "fp32"):
        (slope,) = torch.autograd.grad(value.sum(), tensors[0], create_graph=True)
        torch.autograd.grad(slope.sum(), tensors[0])
    with torch.no_grad(), product_precision(precision):
        ops.sine_series(*tensors)
    assert asked == [name] * 4


def test_other_backends_have_one_sine():
    tensors = inputs(90.0, "cpu", 2)
    expected = ops.sine_series(*tensors)
    with product_precision("tf32"), ops.record_backends() as ran:
        assert torch.equal(ops.sine_series(*tensors), expected)
    assert {backend for _, backend in ran} <= {"compiled", "loop"}


@pytest.mark.gpu
@pytest.mark.parametrize("largest", [6.0, 30.0, 99.0, 200.0, 1e3, 1e4])
def test_errors_over_the_sum_of_amplitudes(largest):
    def computed(dtype):
        tensors = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs(largest, "cuda")]
        value = ops.sine_series(*tensors)
        return [value, *torch.autograd.grad(value.sum(), tensors)]

    exact = computed(torch.float64)
    scale = [1.0, largest, *(len(exact[1]) * 64.0,) * 3]
    found = {}
    for precision, bound in (("fp32", 2e-6), ("bf16x3", 2e-6), ("tf32", 2e-5)):
        with product_precision(precision), ops.record_backends() as ran:
            found[precision] = computed(torch.float32)
        assert set(ran) == {("sine_series", "triton")}
        for mine, true, size in zip(found[precision], exact, scale, strict=True):
            assert float((mine - true).detach().abs().max()) / size < bound
    assert torch.equal(found["fp32"][0], found["bf16x3"][0])
    # Within a turn both are the exact sine, and beyond sixteen turns the largest term is.
    if largest < 100.0:
        assert torch.equal(found["fp32"][0], found["tf32"][0]) == (largest <= 6.0)


@pytest.mark.gpu
def test_a_captured_pass_keeps_its_sines():
    tensors = [tensor.detach() for tensor in inputs(90.0, "cuda")]
    with product_precision("tf32"):
        expected = ops.sine_series(*tensors)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = ops.sine_series(*tensors)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(captured, expected)
    assert not torch.equal(captured, ops.sine_series(*tensors))


@pytest.mark.gpu
def test_what_is_no_number_or_too_large_stays_so():
    sets = [tensor.detach() for tensor in inputs(30.0, "cuda")[1:]]
    x = torch.tensor([1e9, -1e20, float("nan"), 1.0], device="cuda")
    with product_precision("tf32"):
        found = ops.sine_series(x, *sets)
        alone = ops.sine_series(x[2:], *sets)
    assert found[:2].abs().max() <= 1.01
    assert found[2].isnan()
    assert alone[0].isnan()
    expected = ops.sine_series(x[3:].double(), *[tensor.double() for tensor in sets])
    assert abs(float(found[3] - expected)) < 2e-5
    assert abs(float(alone[1] - expected)) < 2e-5
