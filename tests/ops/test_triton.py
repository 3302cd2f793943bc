"""The CUDA kernels. Every test stands alone, without fixtures."""

from __future__ import annotations

import itertools

import pytest
import torch

from staf import ops
from tests.ops.captured import assert_captured_equals_plain

pytestmark = pytest.mark.gpu

# networks, points, width, columns, terms
SIZES = [
    (1, 1, 1, 1, 1),
    (1, 700, 257, 1, 3),
    (1, 700, 257, 257, 3),
    (3, 41, 5, 1, 2),
    (3, 41, 5, 5, 2),
    (1, 3, 2049, 1, 17),
    (2, 33, 256, 1, 5),
    (1, 20_000, 256, 1, 5),
    (3, 901, 128, 1, 9),
    (1, 9_001, 256, 1, 50),
]


def canonical(networks, points, width, columns, terms, frequency=3.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(networks, points, width), *[(networks, columns, terms)] * 3]
    x, c, w, p = (torch.randn(shape, generator=generator).cuda() for shape in shapes)
    return x, c, frequency * w, p


def close(found, expected, tolerance=1e-5):
    assert found.shape == expected.shape
    scale = float(expected.detach().abs().max())
    assert float((found.double() - expected).detach().abs().max()) <= tolerance * scale + 1e-6


def test_every_element_is_written_at_odd_sizes():
    from staf.ops.sine_series import loop, triton

    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)  # fills fresh memory with NaN
    try:
        for size in [*SIZES, (1, 20000, 130, 130, 2), (70000, 1, 3, 1, 2)]:
            inputs, tangents = canonical(*size), canonical(*size, seed=1)
            exact, exact_tangents = [t.double() for t in inputs], [t.double() for t in tangents]
            grad = tangents[0]
            close(triton.value(*inputs), loop.value(*exact))
            for found, expected in (
                (triton.gradients(grad, *inputs), loop.gradients(grad.double(), *exact)),
                (triton.second(grad, *inputs, *tangents), loop.second(grad.double(), *exact, *exact_tangents)),
            ):
                for mine, true in zip(found, expected, strict=True):
                    close(mine, true)
    finally:
        torch.use_deterministic_algorithms(before)


def test_column_sums_are_those_of_the_gradient():
    from staf.ops import column_sums
    from staf.ops.sine_series import triton

    for size in [(2, 33, 256, 1, 5), (1, 20_000, 256, 1, 5), (1, 20_000, 64, 1, 3), (3, 901, 128, 1, 9)]:
        inputs = canonical(*size)
        in_x = triton.gradients(canonical(*size, seed=1)[0], *inputs)[0]
        close(column_sums.found(in_x), in_x.double().sum(1))
    assert column_sums.found(triton.gradients(inputs[0][..., :100], inputs[0][..., :100], *inputs[1:])[0]) is None


def test_error_over_sum_of_amplitudes_is_below_2e_6():
    from staf.ops.sine_series import loop, triton

    for largest, columns, terms in itertools.product((3.0, 10.0, 1e2, 1e3, 1e4), (1, 64), (5, 12)):
        x, c, w, p = canonical(1, 2000, 64, columns, terms)
        x, w = x / x.abs().max(), largest * w / w.abs().max()
        exact = [t.double() for t in (x, c, w, p)]
        bound = c.abs().sum(-1).max()
        assert (triton.value(x, c, w, p) - loop.value(*exact)).abs().max() / bound < 2e-6
        slope = triton.gradients(torch.ones_like(x), x, c, w, p)[0]
        expected = loop.gradients(torch.ones_like(exact[0]), *exact)[0]
        assert (slope - expected).abs().max() / (c * w).abs().sum(-1).max() < 2e-6


def test_public_function_runs_triton_and_torch_func_reaches_it():
    x, c, w, p = (t[0].squeeze(0) for t in canonical(1, 6, 3, 1, 2))
    with ops.record_backends() as ran:
        found = torch.func.hessian(lambda *a: (ops.sine_series(*a) ** 3).sum(), (0, 1, 2, 3))(x, c, w, p)
    assert set(ran) == {("sine_series", "triton")}
    with ops.backend("reference"):
        exact = [t.double() for t in (x, c, w, p)]
        expected = torch.func.hessian(lambda *a: (ops.sine_series(*a) ** 3).sum(), (0, 1, 2, 3))(*exact)
    for mine, true in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
        close(mine, true, 1e-4)
    with ops.record_backends() as ran:
        ops.sine_series(x.double(), c.double(), w.double(), p.double())
    assert ran == [("sine_series", "loop")]


def test_pointwise_operations():
    cases = (
        (ops.sine, 30.0, 1.0),
        (ops.sine, 1e4, 1.0),
        (ops.finer, 30.0, 5.0),
        (ops.finer, 1e2, 9.0),
        (ops.gauss, 10.0, 1.0),
    )
    for function, constant, scale in cases:
        x = torch.linspace(-scale, scale, 20011, device="cuda").requires_grad_()
        exact = x.detach().double().requires_grad_()
        with ops.record_backends() as ran:
            found = function(x, constant)
            (slope,) = torch.autograd.grad(found.sum(), x, create_graph=True)
            (bend,) = torch.autograd.grad(slope.sum(), x)
        assert {backend for _, backend in ran} == {"triton"}
        expected = function(exact, constant)
        (expected_slope,) = torch.autograd.grad(expected.sum(), exact, create_graph=True)
        (expected_bend,) = torch.autograd.grad(expected_slope.sum(), exact)
        assert (found - expected).abs().max() < 2e-6
        close(slope, expected_slope, 2e-6)
        close(bend, expected_bend, 2e-6)


def test_a_training_step_can_be_captured_and_replayed_with_the_same_bits():
    x, c, w, p = (t.requires_grad_() for t in canonical(2, 900, 65, 65, 4))

    def step():
        (slope,) = torch.autograd.grad(ops.sine_series(x, c, w, p).sum(), x, create_graph=True)
        return torch.autograd.grad((slope**2).sum() + ops.finer(x, 3.0).sum(), (x, c, w, p))

    assert_captured_equals_plain(step)


def test_extreme_inputs():
    sets = [torch.tensor([value], device="cuda") for value in (1.0, 30.0, 1000.0)]
    x = torch.tensor([1e9, -1e20, float("nan"), 1.0], device="cuda")
    found = ops.sine_series(x, *sets)
    assert found[:2].abs().max() <= 1.001
    assert found[2].isnan()
    assert abs(float(found[3]) - float(torch.tensor(1030.0).double().sin())) < 2e-6
    assert ops.gauss(x, 10.0)[:2].tolist() == [0.0, 0.0]


def test_gpu_autocast_returns_float32():
    sets = [torch.ones(2, device="cuda") for _ in range(3)]
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert ops.sine_series(torch.ones(3, device="cuda", dtype=torch.bfloat16), *sets).dtype == torch.float32
