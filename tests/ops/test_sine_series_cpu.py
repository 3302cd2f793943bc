"""The compiled kernels: accuracy for large angles, every element written, the same bits for any number of threads."""

from __future__ import annotations

import pytest
import torch

from staf import ops
from staf.ops import native
from staf.ops.sine_series import cpu, loop

pytestmark = pytest.mark.skipif(native.library() is None, reason="no C compiler here")


def canonical(inputs, networks, points, width, columns, terms, dtype=torch.float32, frequency=30.0):
    x, *sets = inputs((networks, points, width), (networks, columns, terms), dtype=dtype, frequency=frequency)
    return x, sets


def test_compiled_is_what_runs_on_float32(inputs):
    arguments = inputs((5, 3), (2,), dtype=torch.float32, requires_grad=True)
    with ops.record_backends() as ran:
        ops.sine_series(*arguments).sum().backward()
    assert ran == [("sine_series", "compiled")] * 2


@pytest.mark.parametrize("largest", [10.0, 1e2, 1e3, 1e4])
@pytest.mark.parametrize("columns", [1, 50])
def test_error_over_sum_of_amplitudes_is_below_2e_6(inputs, largest, columns):
    x, (c, w, p) = canonical(inputs, 1, 400, 50, columns, 5)
    x = x / x.abs().max()
    w = largest * w / w.abs().max()
    exact = [tensor.double() for tensor in (x, c, w, p)]
    bound = c.abs().sum(-1).max()
    error = (cpu.value(x, c, w, p) - loop.value(*exact)).abs().max() / bound
    assert error < 2e-6
    grad = torch.ones_like(x)
    slope_bound = (c * w).abs().sum(-1).max()
    found, expected = cpu.gradients(grad, x, c, w, p), loop.gradients(grad.double(), *exact)
    assert (found[0] - expected[0]).abs().max() / slope_bound < 2e-6
    for mine, true in zip(found[1:], expected[1:], strict=True):
        assert (mine - true).abs().max() <= 2e-6 * x.shape[1] * max(1.0, float(c.abs().max()))


@pytest.mark.parametrize(
    ("networks", "points", "width", "columns", "terms"),
    [
        (1, 1, 1, 1, 1),
        (1, 700, 257, 1, 3),
        (1, 700, 257, 257, 3),
        (3, 41, 5, 1, 2),
        (3, 41, 5, 5, 2),
        (1, 3, 2049, 1, 7),
    ],
)
def test_every_element_is_written(inputs, poisoned, networks, points, width, columns, terms):
    x, sets = canonical(inputs, networks, points, width, columns, terms, frequency=3.0)
    tangent, tangents = canonical(inputs, networks, points, width, columns, terms, frequency=3.0)
    exact = [tensor.double() for tensor in (x, *sets)]
    pairs = [
        ((cpu.value(x, *sets),), (loop.value(*exact),)),
        (cpu.gradients(x, x, *sets), loop.gradients(exact[0], *exact)),
        (
            cpu.second(x, x, *sets, tangent, *tangents),
            loop.second(exact[0], *exact, tangent.double(), *(t.double() for t in tangents)),
        ),
    ]
    for found, expected in pairs:
        for mine, true in zip(found, expected, strict=True):
            assert mine.shape == true.shape
            scale = float(true.abs().max())
            torch.testing.assert_close(mine.double(), true, rtol=1e-5, atol=3e-6 * scale + 1e-6)


@pytest.mark.parametrize("columns", [1, 64])
def test_the_number_of_threads_does_not_change_a_bit(inputs, columns):
    x, sets = canonical(inputs, 1, 4000, 64, columns, 3)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append((cpu.value(x, *sets), *cpu.gradients(x, x, *sets), *cpu.second(x, x, *sets, x, *sets)))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_extreme_inputs_stay_bounded_and_nan_stays_nan():
    sets = [torch.tensor([[[value]]]) for value in (1.0, 30.0, 0.5)]
    x = torch.tensor([[[1e9], [-1e20], [float("nan")], [float("inf")]]])
    found = cpu.value(x, *sets).flatten()
    assert found[:2].abs().max() <= 1.1
    assert found[2:].isnan().all()
    large = cpu.value(torch.ones(1, 1, 1), sets[0], sets[1], torch.tensor([[[1000.0]]]))
    torch.testing.assert_close(large.double(), torch.tensor([[[1030.0]]]).double().sin(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("columns", [1, 5])
def test_one_huge_angle_changes_nothing_for_its_neighbours(inputs, columns):
    x, sets = canonical(inputs, 1, 400, 5, columns, 3)
    huge = x.clone()
    huge[0, 7, 2] = 3e8
    grad = torch.ones_like(x)
    others = torch.ones_like(x, dtype=torch.bool)
    others[0, 7, 2] = False
    assert torch.equal(cpu.value(x, *sets)[others], cpu.value(huge, *sets)[others])
    in_x, in_huge = cpu.gradients(grad, x, *sets)[0], cpu.gradients(grad, huge, *sets)[0]
    assert torch.equal(in_x[others], in_huge[others])
    assert in_huge[~others].abs() <= 1.1 * (sets[0] * sets[1]).abs().sum(-1).max()


@pytest.mark.parametrize("shape", [(1, 256), (3,), (), (700, 257), (2, 3, 5)])
def test_without_gradients_one_set_gives_the_same_bits_by_the_short_way(inputs, shape, poisoned):
    x, *sets = inputs(shape, (5,), dtype=torch.float32)
    with ops.record_backends() as ran:
        short = ops.sine_series(x, *sets)
    assert ran == [("sine_series", "compiled")]
    long = ops.sine_series(x.requires_grad_(), *sets)
    assert long.requires_grad
    assert short.shape == long.shape == torch.Size(shape)
    assert torch.equal(short, long.detach())


def test_the_short_way_takes_strided_inputs(inputs):
    x, c, w, p = inputs((6, 4), (2, 3), dtype=torch.float32)
    sets = [tensor.t()[1] for tensor in (c, w, p)]
    found = ops.sine_series(x.t(), *sets)
    torch.testing.assert_close(found, ops.sine_series(x, *sets).t(), rtol=0, atol=0)
    exact = sum(a.double() * torch.sin(b.double() * x.double() + d.double()) for a, b, d in zip(*sets, strict=True))
    torch.testing.assert_close(found.t().double(), exact, rtol=0, atol=1e-5)
