"""Derivatives of the grid: checked numerically, against the formula differentiated by torch, and under torch.func."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.utils._pytree import tree_leaves

from staf import ops
from staf.ops import GridLayout, hash_grid

BOTH = (0, 1)
KINDS = ("linear", "smoothstep")


def layout_of(dimensions, log2_entries=4, levels=2):
    return GridLayout.geometric(dimensions, levels=levels, log2_entries=log2_entries, coarsest=2, growth=1.9)


def drawn(layout, points=3, features=2, dtype=torch.float64, requires_grad=False):
    generator = torch.Generator().manual_seed(1)
    # One point outside on an axis.
    x = torch.rand(points, layout.dimensions, generator=generator).to(dtype) * 1.8 - 0.9
    x[-1, 0] = 1.3
    table = torch.randn(layout.entries, features, generator=generator).to(dtype)
    return x.requires_grad_(requires_grad), table.requires_grad_(requires_grad)


def grid(name, layout, interpolation):
    def run(x, table):
        with ops.backend(name):
            return hash_grid(x, table, layout, interpolation=interpolation, unmixed="zero")

    return run


def energy(name, layout, interpolation):
    run = grid(name, layout, interpolation)
    return lambda x, table: (run(x, table) ** 3).sum()


def assert_same(found, expected, rtol=1e-9, atol=1e-9):
    found, expected = tree_leaves(found), tree_leaves(expected)
    assert len(found) == len(expected)
    assert max(float(part.detach().abs().max()) for part in expected) > 0
    for mine, true in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.to(true.dtype), true, rtol=rtol, atol=atol)


@pytest.mark.parametrize("interpolation", KINDS)
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_gradcheck(dimensions, interpolation):
    layout = layout_of(dimensions, log2_entries=3)
    arguments = drawn(layout, points=2, features=2 if dimensions < 3 else 1, requires_grad=True)
    options = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(grid("loop", layout, interpolation), arguments, **options)


@pytest.mark.parametrize("interpolation", KINDS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_gradgradcheck(dimensions, interpolation):
    layout = layout_of(dimensions, log2_entries=3)
    arguments = drawn(layout, points=2, features=1, requires_grad=True)
    assert torch.autograd.gradgradcheck(grid("loop", layout, interpolation), arguments, check_fwd_over_rev=True)


def composed(modes):
    def transform(function):
        for mode in modes:
            function = (jacfwd if mode == "f" else jacrev)(function, BOTH)
        return function

    return transform


@pytest.mark.parametrize("interpolation", KINDS)
@pytest.mark.parametrize("modes", ["".join(modes) for n in (1, 2) for modes in itertools.product("fr", repeat=n)])
def test_every_nesting_of_two_modes_equals_the_formula(modes, interpolation):
    layout = layout_of(2, log2_entries=3)
    arguments = drawn(layout, points=2, features=1)
    transform = composed(modes)
    found = transform(energy("loop", layout, interpolation))(*arguments)
    assert_same(found, transform(energy("reference", layout, interpolation))(*arguments))


@pytest.mark.parametrize("modes", ["fff", "frf", "rfr", "rrr"])
def test_third_derivatives_of_smoothstep(modes):
    layout = layout_of(2, log2_entries=2)
    arguments = drawn(layout, points=2, features=1)
    transform = composed(modes)
    found = transform(energy("loop", layout, "smoothstep"))(*arguments)
    assert_same(found, transform(energy("reference", layout, "smoothstep"))(*arguments))


@pytest.mark.parametrize("interpolation", KINDS)
def test_second_derivatives_through_the_cpu_kernels(cpu_backend, interpolation):
    layout = layout_of(3, log2_entries=7, levels=3)
    x, table = drawn(layout, points=300, dtype=torch.float32, requires_grad=True)

    def pair(name, x, table):
        value = energy(name, layout, interpolation)(x, table)
        slopes = torch.autograd.grad(value, (x, table), create_graph=True)
        return torch.autograd.grad(sum((part**2).sum() for part in slopes), (x, table))

    with ops.record_backends() as ran:
        found = pair(cpu_backend, x, table)
    assert set(ran) == {("hash_grid", cpu_backend)}
    exact = [tensor.detach().double().requires_grad_() for tensor in (x, table)]
    for mine, true in zip(found, pair("reference", *exact), strict=True):
        assert (mine - true).abs().max() < 2e-5 * true.abs().max()


def test_hessian_of_smoothstep_by_finite_differences():
    layout = layout_of(2, log2_entries=5)
    x, table = drawn(layout, points=1)
    x[0, 0] = 0.13

    def value(x):
        return hash_grid(x, table, layout, interpolation="smoothstep")[0, 0]

    found = hessian(value)(x)[0, :, 0, :]
    step, eye = 1e-4, torch.eye(2, dtype=torch.float64)
    for i, j in itertools.product(range(2), repeat=2):
        around = [value(x + step * (a * eye[i] + b * eye[j])) * a * b for a in (1, -1) for b in (1, -1)]
        assert float(sum(around) / (4 * step**2)) == pytest.approx(float(found[i, j]), rel=1e-4, abs=1e-4)


def test_smoothstep_has_a_continuous_slope_and_linear_has_not():
    layout = GridLayout.geometric(2, levels=1, coarsest=4, growth=1.0)
    _, table = drawn(layout)
    jumps = {}
    for interpolation in KINDS:
        sides = torch.tensor([[-1e-9, 0.1], [1e-9, 0.1]], dtype=torch.float64, requires_grad=True)
        value = hash_grid(sides, table, layout, interpolation=interpolation)
        (slope,) = torch.autograd.grad(value.sum(), sides)
        jumps[interpolation] = float((slope[0] - slope[1]).abs().max())
    assert jumps["smoothstep"] < 1e-6
    assert jumps["linear"] > 1e-2


def second_by_coordinates(options):
    layout = layout_of(2)
    x, table = drawn(layout, requires_grad=True)
    value = hash_grid(x, table, layout, **options)
    (slope,) = torch.autograd.grad(value.square().sum(), x, create_graph=True)
    return x, table, slope


def test_second_derivatives_of_linear_by_coordinates_are_refused_by_default():
    x, table, slope = second_by_coordinates({})
    with pytest.raises(NotImplementedError, match="use interpolation='smoothstep'"):
        torch.autograd.grad(slope.sum(), x)
    x, table, slope = second_by_coordinates({})
    with pytest.raises(NotImplementedError, match=r"loss.backward\(inputs="):
        slope.square().sum().backward()
    layout = layout_of(2)
    x, table = drawn(layout)
    for second in (hessian, lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacfwd(f))):
        with pytest.raises(NotImplementedError, match="undefined between cells"):
            second(lambda x: hash_grid(x, table, layout).sum())(x)


def test_losses_on_slopes_of_linear_reach_the_table_exactly():
    x, table, slope = second_by_coordinates({})
    (found,) = torch.autograd.grad((slope.norm(dim=-1) - 1).square().sum(), table)
    with ops.backend("reference"):
        x, table, slope = second_by_coordinates({})
        (expected,) = torch.autograd.grad((slope.norm(dim=-1) - 1).square().sum(), table)
    assert_same(found, expected)
    x, table, slope = second_by_coordinates({})
    slope.square().sum().backward(inputs=[table])
    assert table.grad is not None
    assert x.grad is None


def test_mixed_second_derivatives_of_linear_are_exact_and_unmixed_ones_zero_on_request():
    layout = GridLayout.geometric(2, levels=1, coarsest=2, growth=1.0)
    table = torch.zeros(9, 1, dtype=torch.float64)
    table[8] = 1.0
    # In the last cell the value is (x + 0)(y + 0) at positions x, y in [0, 1]: the mixed derivative is 1.
    x = torch.tensor([[0.3, 0.6]], dtype=torch.float64)
    found = hessian(lambda x: hash_grid(x, table, layout, unmixed="zero").sum())(x)[0, :, 0, :]
    assert found.tolist() == [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (0, 0), (1, None)])
def test_vmap_over_each_argument(in_dims, cpu_backend):
    layout = layout_of(2)
    x, table = drawn(layout, dtype=torch.float32)
    shapes = {0: x, 1: table}
    mapped = [
        tensor if dim is None else torch.stack([tensor * factor for factor in (1.0, -0.5, 0.25)], dim)
        for (tensor, dim) in zip(shapes.values(), in_dims, strict=True)
    ]
    transform = vmap(grad(energy(cpu_backend, layout, "smoothstep"), BOTH), in_dims)
    expected = vmap(grad(energy("reference", layout, "smoothstep"), BOTH), in_dims)
    assert_same(transform(*mapped), expected(*mapped), rtol=1e-4, atol=1e-4)
    assert_same(
        vmap(grid(cpu_backend, layout, "linear"), in_dims)(*mapped),
        vmap(grid("reference", layout, "linear"), in_dims)(*mapped),
        rtol=1e-4,
        atol=1e-5,
    )


def test_jvp_through_the_cpu_kernels(cpu_backend):
    layout = layout_of(2)
    x, table = drawn(layout, dtype=torch.float32)
    tangents = (torch.ones_like(x), torch.ones_like(table))
    found = jvp(grid(cpu_backend, layout, "linear"), (x, table), tangents)
    assert_same(found, jvp(grid("reference", layout, "linear"), (x, table), tangents), rtol=1e-4, atol=1e-4)


def test_only_what_is_asked_for_is_computed():
    layout = layout_of(2)
    x, table = drawn(layout, requires_grad=True)
    with ops.record_backends() as ran:
        hash_grid(x.detach(), table, layout).sum().backward()
    assert len(ran) == 2
    assert x.grad is None
    with ops.record_backends() as ran:
        hash_grid(x, table.detach(), layout).sum().backward()
    assert len(ran) == 2
