"""The grid's CUDA kernels. Every test stands alone, without fixtures."""

from __future__ import annotations

import itertools

import pytest
import torch

from staf import ops
from staf.ops import GridLayout, hash_grid
from tests.ops.captured import assert_captured_equals_plain

pytestmark = pytest.mark.gpu


def small(dimensions, levels=3, log2_entries=8):
    sides = [1 + 0.4 * k for k in range(dimensions)]
    return GridLayout.geometric(
        dimensions, levels=levels, log2_entries=log2_entries, coarsest=3, growth=2.3, proportions=sides
    )


def drawn(layout, networks, points, features, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(networks, points, layout.dimensions, generator=generator) * 2.2 - 1.1
    shapes = ((layout.entries, features), (points, layout.dimensions), (points, len(layout.levels) * features))
    return [x.cuda(), *(torch.randn(networks, *shape, generator=generator).cuda() for shape in shapes)]


def close(found, expected, tolerance=2e-5):
    assert found.shape == expected.shape
    assert float((found - expected).abs().max()) <= tolerance * float(expected.abs().max()) + 1e-7


def check_sums(dimensions, features):
    from staf.ops.hash_grid import loop, triton

    layout = small(dimensions)
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)  # fills fresh memory with NaN
    try:
        for (networks, points), smooth, directed in itertools.product(((1, 1), (3, 701)), (False, True), (False, True)):
            x, table, v, grad = drawn(layout, networks, points, features)
            exact = [tensor.double() for tensor in (x, table, v, grad)]
            way, exact_way = (v, exact[2]) if directed else (None, None)
            options = (layout, smooth)
            close(triton.gather(x, table, way, *options), loop.gather(*exact[:2], exact_way, *options))
            expected = loop.slope(exact[3], *exact[:2], exact_way, *options)
            close(triton.slope(grad, x, table, way, *options), expected)
            expected = loop.scatter(exact[3], exact[0], exact_way, *options, deterministic=True)
            close(triton.scatter(grad, x, way, *options), expected)
            close(triton.scatter(grad, x, way, *options, deterministic=True), expected, 1e-6)
    finally:
        torch.use_deterministic_algorithms(before)


def test_every_sum_equals_the_loops_and_every_element_is_written():
    for dimensions, features in ((1, 1), (2, 2), (3, 2), (4, 2), (2, 4), (3, 1), (2, 8)):
        check_sums(dimensions, features)


def test_deterministic_sums_have_the_same_bits_and_are_asked_for_in_two_ways():
    layout = small(2, levels=8, log2_entries=12)
    x, table, _, grad = (tensor[0] for tensor in drawn(layout, 1, 100_000, 2))
    table.requires_grad_()

    def gradient(**options):
        return torch.autograd.grad(hash_grid(x, table, layout, **options), table, grad)[0]

    first = gradient(deterministic=True)
    assert all(torch.equal(first, gradient(deterministic=True)) for _ in range(3))
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.equal(first, gradient())
    finally:
        torch.use_deterministic_algorithms(False)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).cuda()
    (shuffled,) = torch.autograd.grad(hash_grid(x[order], table, layout, deterministic=True), table, grad[order])
    assert torch.equal(first, shuffled)


def test_fixed_point_sums_keep_tiny_and_huge_gradients_and_say_what_is_not_a_number():
    from staf.ops.hash_grid import loop, triton

    layout = small(2)
    x, _, _, grad = drawn(layout, 1, 500, 2)
    for size in (1e-30, 1e-8, 1e8, 1e30):
        found = triton.scatter(grad * size, x, None, layout, False, True)
        close(found, loop.scatter(grad.double() * size, x.double(), None, layout, False), 1e-5)
    assert not triton.scatter(grad * 0, x, None, layout, False, True).any()
    grad[0, 3, 1] = float("inf")
    assert triton.scatter(grad, x, None, layout, False, True).isnan().all()


def test_public_function_runs_triton_to_second_order():
    for interpolation in ("linear", "smoothstep"):
        layout = small(3)
        x, table = (tensor[0].requires_grad_() for tensor in drawn(layout, 1, 300, 2)[:2])

        def pair(x, table, layout=layout, interpolation=interpolation):
            value = (hash_grid(x, table, layout, interpolation=interpolation, unmixed="zero") ** 3).sum()
            slopes = torch.autograd.grad(value, (x, table), create_graph=True)
            return torch.autograd.grad(sum((part**2).sum() for part in slopes), (x, table))

        with ops.record_backends() as ran:
            found = pair(x, table)
        assert set(ran) == {("hash_grid", "triton")}
        with ops.backend("reference"):
            expected = pair(*(tensor.detach().double().requires_grad_() for tensor in (x, table)))
        for mine, true in zip(found, expected, strict=True):
            close(mine, true, 1e-4)


def test_torch_func_reaches_the_kernels():
    layout = small(2)
    x, table = (tensor[0] for tensor in drawn(layout, 1, 5, 1)[:2])

    def energy(x, table):
        return (hash_grid(x, table, layout, interpolation="smoothstep") ** 3).sum()

    found = torch.func.hessian(energy)(x, table)
    with ops.backend("reference"):
        close(found, torch.func.hessian(energy)(x.double(), table.double()), 1e-4)
    per_point = torch.vmap(torch.func.grad(energy), in_dims=(0, None))(x, table)
    close(per_point, torch.func.grad(energy)(x, table).double(), 1e-5)


def test_a_step_can_be_captured_and_replayed():
    layout = small(2, levels=8, log2_entries=12)
    x, table, _, _ = (tensor[0] for tensor in drawn(layout, 1, 10_000, 2))
    table.requires_grad_()

    def step():
        value = hash_grid(x, table, layout, deterministic=True).square().sum()
        return torch.autograd.grad(value, table)

    assert_captured_equals_plain(step)


def test_borders_numbers_that_are_none_and_no_points():
    layout = small(2)
    table = drawn(layout, 1, 1, 2)[1][0].requires_grad_()
    x = torch.tensor([[-3.0, 0.3], [1.0, 1.0], [float("nan"), 0.1]], device="cuda", requires_grad=True)
    border = torch.tensor([[-1.0, 0.3], [1.0, 1.0]], device="cuda")
    found = hash_grid(x, table, layout)
    assert torch.equal(found[:2], hash_grid(border, table, layout))
    assert found[2].isnan().all()
    assert torch.autograd.grad(found[0].sum(), x)[0][0, 0] == 0
    assert hash_grid(torch.zeros(0, 2, device="cuda"), table, layout).shape == (0, 6)
