"""One set of many terms by a table: as accurate as term by term, for each point alone, and only where it can be."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from staf import ops
from staf.ops import native
from staf.ops.sine_series import cpu, loop, table

pytestmark = pytest.mark.skipif(native.library() is None, reason="no C compiler here")


def drawn(terms: int, fastest: float, shape: tuple[int, ...], networks: int = 1) -> tuple[Tensor, list[Tensor]]:
    generator = torch.Generator().manual_seed(terms)
    x = 2 * torch.rand(networks, *shape, generator=generator) - 1
    amplitude, phase = torch.randn(2, networks, 1, terms, generator=generator).unbind()
    return x, [amplitude, fastest * (2 * torch.rand(networks, 1, terms, generator=generator) - 1), phase]


def has_table(x: Tensor, sets: list[Tensor]) -> bool:
    return table.knots_for(x[0], sets[0].shape[-1], sets[1][0]) is not None


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize(("terms", "fastest"), [(16, 3.0), (50, 30.0), (20, 150.0)])
def test_values_and_gradients_have_the_accuracy_of_single_terms(terms, fastest, networks):
    x, sets = drawn(terms, fastest, (700, 601), networks)
    assert has_table(x, sets)
    grad = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    exact = [tensor.double() for tensor in (x, *sets)]
    c, w, _ = sets
    bound, slope = c.abs().sum(-1).max(), (c * w).abs().sum(-1).max()
    assert (cpu.value(x, *sets) - loop.value(*exact)).abs().max() < 1e-6 * bound
    found, expected = cpu.gradients(grad, x, *sets), loop.gradients(grad.double(), *exact)
    assert (found[0] - expected[0]).abs().max() < 1e-6 * slope * grad.abs().max()
    for mine, true in zip(found[1:], expected[1:], strict=True):
        assert mine.shape == true.shape
        assert (mine - true).abs().max() < 1e-7 * grad.abs().sum() * max(1.0, float(c.abs().max()))


def test_a_value_is_the_same_whatever_stands_beside_it():
    x, sets = drawn(50, 30.0, (600, 400))
    whole = cpu.value(x, *sets)
    later = x[:, 37:].roll(1, dims=2)
    assert has_table(later, sets)
    assert torch.equal(cpu.value(later, *sets), whole[:, 37:].roll(1, dims=2))


def test_the_number_of_threads_does_not_change_a_bit():
    x, sets = drawn(20, 30.0, (600, 400))
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append((cpu.value(x, *sets), *cpu.gradients(x, x, *sets)))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e30, -3e5], ids=str)
def test_points_that_no_table_reaches_are_computed_term_by_term(odd):
    x, sets = drawn(16, 30.0, (300, 200))
    x[0, 5, 7] = odd
    assert not has_table(x, sets)
    found = cpu.value(x, *sets)
    kept = torch.ones_like(x, dtype=torch.bool)
    kept[0, 5, 7] = False
    expected = loop.value(*(tensor.double() for tensor in (x, *sets)))
    assert (found - expected)[kept].abs().max() < 2e-6 * sets[0].abs().sum()


@pytest.mark.parametrize(
    ("terms", "fastest", "points"),
    [(15, 30.0, 100_000), (50, 30.0, 1000), (50, 0.0, 100_000), (50, float("nan"), 100_000), (50, 1e-30, 100_000)],
)
def test_there_is_no_table_where_it_would_not_pay(terms, fastest, points):
    x, sets = drawn(terms, fastest, (points, 1))
    assert not has_table(x, sets)


def test_the_operation_uses_it_and_has_second_gradients():
    x, (c, w, p) = drawn(16, 3.0, (300, 200))
    leaves = [tensor.requires_grad_() for tensor in (x[0], c[0, 0], w[0, 0], p[0, 0])]
    assert has_table(x, [c, w, p])
    exact = [tensor.detach().double().requires_grad_() for tensor in leaves]

    def bent(y: Tensor, given: list[Tensor]) -> tuple[Tensor, ...]:
        (slope,) = torch.autograd.grad(y.sum(), given[0], create_graph=True)
        return torch.autograd.grad(slope.square().mean(), given)

    with ops.record_backends() as ran:
        found = bent(ops.sine_series(*leaves), leaves)
    assert {name for _, name in ran} == {"compiled"}
    with ops.backend("reference"):
        expected = bent(ops.sine_series(*exact), exact)
    for mine, true in zip(found, expected, strict=True):
        assert (mine - true).abs().max() < 1e-5 * true.abs().max()
