"""One set of many terms on CUDA by tables and moments: as accurate as term by term, wherever x lies."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from staf import ops
from tests.ops.captured import assert_captured_equals_plain

pytestmark = pytest.mark.gpu


def drawn(terms: int, fastest: float, reach: float, shape: tuple[int, ...], networks: int = 1) -> list[Tensor]:
    generator = torch.Generator().manual_seed(terms)
    x = reach * (2 * torch.rand(networks, *shape, generator=generator) - 1)
    amplitude, phase = torch.randn(2, networks, 1, terms, generator=generator).unbind()
    frequency = fastest * (2 * torch.rand(networks, 1, terms, generator=generator) - 1)
    return [tensor.cuda() for tensor in (x, amplitude, frequency, phase)]


# The last two do not fit: too many moments, and beyond the table.
@pytest.mark.parametrize(
    ("terms", "fastest", "reach", "shape", "networks"),
    [
        (50, 30.0, 0.3, (9_001, 256), 1),
        (16, 3.0, 1.0, (8_229, 130), 2),
        (50, 90.0, 1.3, (5_000, 256), 1),
        (20, 1e-3, 0.1, (5_000, 256), 1),
        (16, 60.0, 2.0, (5_000, 256), 1),
        (16, 30.0, 300.0, (5_000, 256), 1),
    ],
)
def test_values_and_gradients_have_the_accuracy_of_single_terms(terms, fastest, reach, shape, networks, monkeypatch):
    from staf.ops import column_sums
    from staf.ops.sine_series import loop, triton, triton_table

    monkeypatch.setattr(triton_table, "LEAST", 2**19)
    inputs = drawn(terms, fastest, reach, shape, networks)
    x, c, w, _ = inputs
    assert triton_table.applies(x, c)
    grad = torch.randn(x.shape, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    exact = [tensor.double() for tensor in inputs]
    bound, slope = c.abs().sum(-1).max(), (c * w).abs().sum(-1).max()
    torch.use_deterministic_algorithms(True)  # fills fresh memory with NaN
    try:
        value, found = triton.value(*inputs), triton.gradients(grad, *inputs)
    finally:
        torch.use_deterministic_algorithms(False)
    assert (value - loop.value(*exact)).abs().max() < 2e-6 * bound
    expected = loop.gradients(grad.double(), *exact)
    assert (found[0] - expected[0]).abs().max() < 2e-6 * slope * grad.abs().max()
    # A frequency's gradient is as much larger as x is.
    for mine, true, scale in zip(found[1:], expected[1:], (1.0, max(1.0, reach), 1.0), strict=True):
        assert mine.shape == true.shape
        assert (mine - true).abs().max() < 1e-7 * scale * grad.abs().sum() * max(1.0, float(c.abs().max()))
    sums = column_sums.found(found[0])
    if shape[1] == 256:
        assert sums is not None
        assert torch.allclose(sums.double(), found[0].double().sum(1), rtol=1e-4, atol=1e-5 * float(slope) * shape[0])


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e30, -3e5], ids=str)
def test_points_that_no_table_reaches_are_computed_term_by_term(odd):
    from staf.ops.sine_series import loop, triton

    inputs = drawn(16, 30.0, 0.5, (5_000, 256))
    inputs[0][0, 5, 7] = odd
    kept = torch.ones_like(inputs[0], dtype=torch.bool)
    kept[0, 5, 7] = False
    exact = [tensor.double() for tensor in inputs]
    assert (triton.value(*inputs) - loop.value(*exact))[kept].abs().max() < 2e-6 * inputs[1].abs().sum()
    grad = torch.ones_like(inputs[0])
    found, expected = triton.gradients(grad, *inputs)[0], loop.gradients(grad.double(), *exact)[0]
    assert (found - expected)[kept].abs().max() < 2e-6 * (inputs[1] * inputs[2]).abs().sum()


def test_the_operation_has_second_gradients_and_repeats_its_bits_when_captured():
    x, c, w, p = drawn(16, 3.0, 1.0, (4_100, 256))
    leaves = [tensor.requires_grad_() for tensor in (x[0], c[0, 0], w[0, 0], p[0, 0])]
    exact = [tensor.detach().double().requires_grad_() for tensor in leaves]

    def bent(given: list[Tensor]) -> tuple[Tensor, ...]:
        (slope,) = torch.autograd.grad(ops.sine_series(*given).sum(), given[0], create_graph=True)
        return torch.autograd.grad(slope.square().mean(), given)

    with ops.record_backends() as ran:
        found = bent(leaves)
    assert {name for _, name in ran} == {"triton"}
    with ops.backend("loop"):
        expected = bent(exact)
    for mine, true in zip(found, expected, strict=True):
        assert (mine - true).abs().max() < 2e-5 * true.abs().max()
    assert_captured_equals_plain(lambda: torch.autograd.grad(ops.sine_series(*leaves).square().sum(), leaves))


def test_each_part_of_one_memory_has_its_own_reach():
    x, c, w, p = drawn(16, 30.0, 1.0, (10_000, 256))
    with torch.no_grad():
        x[0, 5_000:] *= 0.01
    leaves = [tensor.requires_grad_() for tensor in (x[0], c[0, 0], w[0, 0], p[0, 0])]
    exact = [tensor.detach().double().requires_grad_() for tensor in leaves]

    def gradients(given: list[Tensor]) -> tuple[Tensor, ...]:
        halves = [ops.sine_series(half, *given[1:]) for half in given[0].chunk(2)]
        return torch.autograd.grad(sum(half.square().sum() for half in halves), given)

    with ops.backend("loop"):
        expected = gradients(exact)
    for mine, true in zip(gradients(leaves), expected, strict=True):
        assert (mine - true).abs().max() < 2e-5 * true.abs().max()
