"""Derivatives: checked numerically, against the formula differentiated by torch, and under torch.func."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.utils._pytree import tree_leaves

from staf import ops

SHAPES = [
    ((), (2,)),
    ((3, 2), (2,)),
    ((3, 2), (2, 2)),
    ((2, 2, 2), (2, 1, 2)),
    ((2, 2, 2), (2, 2, 1)),
    ((2, 3), (2, 3, 1)),
]
ALL = (0, 1, 2, 3)


def with_backend(name):
    def run(*arguments):
        with ops.backend(name):
            return ops.sine_series(*arguments)

    return run


def energy(name):
    run = with_backend(name)
    return lambda *arguments: (run(*arguments) ** 3).sum()


def assert_same(found, expected, rtol=1e-9, atol=1e-9):
    found, expected = tree_leaves(found), tree_leaves(expected)
    assert len(found) == len(expected)
    assert max(float(part.detach().abs().max()) for part in expected) > 0
    for mine, true in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.to(true.dtype), true, rtol=rtol, atol=atol)


@pytest.mark.parametrize(("x_shape", "set_shape"), SHAPES)
def test_gradcheck(inputs, x_shape, set_shape):
    arguments = inputs(x_shape, set_shape, requires_grad=True)
    options = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(ops.sine_series, arguments, **options)


@pytest.mark.parametrize(("x_shape", "set_shape"), SHAPES)
def test_gradgradcheck(inputs, x_shape, set_shape):
    arguments = inputs(x_shape, set_shape, requires_grad=True)
    assert torch.autograd.gradgradcheck(ops.sine_series, arguments, check_fwd_over_rev=True)


def composed(modes):
    """jacfwd and jacrev, innermost first."""

    def transform(function):
        for mode in modes:
            function = (jacfwd if mode == "f" else jacrev)(function, ALL)
        return function

    return transform


@pytest.mark.parametrize("modes", ["".join(modes) for n in (1, 2, 3) for modes in itertools.product("fr", repeat=n)])
def test_every_nesting_of_forward_and_reverse_mode_equals_the_formula(inputs, modes):
    arguments = inputs((2, 2), (1,))
    transform = composed(modes)
    assert_same(transform(energy("loop"))(*arguments), transform(energy("reference"))(*arguments))


def test_grad_and_hessian(inputs):
    arguments = inputs((3, 2), (2,))
    assert_same(grad(energy("loop"), ALL)(*arguments), grad(energy("reference"), ALL)(*arguments))
    assert_same(hessian(energy("loop"), ALL)(*arguments), hessian(energy("reference"), ALL)(*arguments))


@pytest.mark.parametrize("modes", ["f", "r", "ff", "fr", "rf", "rr"])
def test_torch_func_through_the_cpu_kernels(inputs, cpu_backend, modes):
    arguments = inputs((3, 2), (2, 2), dtype=torch.float32)
    transform = composed(modes)
    with ops.record_backends() as ran:
        found = transform(energy(cpu_backend))(*arguments)
    assert set(ran) == {("sine_series", cpu_backend)}
    exact = [tensor.double() for tensor in arguments]
    assert_same(found, transform(energy("reference"))(*exact), rtol=1e-3, atol=2e-2)


def test_jvp_of_each_argument_alone(inputs):
    arguments = inputs((3, 2), (2,))
    for index in ALL:

        def partial(value, name, index=index):
            return with_backend(name)(*arguments[:index], value, *arguments[index + 1 :])

        tangent = torch.ones_like(arguments[index])
        found = jvp(lambda value: partial(value, "loop"), (arguments[index],), (tangent,))
        expected = jvp(lambda value: partial(value, "reference"), (arguments[index],), (tangent,))
        assert_same(found, expected)


def test_vmap_over_points_gives_gradients_per_point(inputs, cpu_backend):
    x, *sets = inputs((5, 3), (2,), dtype=torch.float32)

    def per_point(name):
        return vmap(grad(energy(name), ALL), in_dims=(0, None, None, None))

    found = per_point(cpu_backend)(x, *sets)
    assert [part.shape for part in found] == [(5, 3), (5, 2), (5, 2), (5, 2)]
    assert_same(found, per_point("reference")(x, *sets), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("in_dims", [(None, 0, 0, 0), (0, 0, None, 0), (1, None, None, 0), (None, None, 1, None)])
def test_vmap_over_any_argument(inputs, in_dims):
    sizes = {0: (4, 3), 1: (2,), 2: (2,), 3: (2,)}
    arguments = []
    for position, dim in enumerate(in_dims):
        shape = list(sizes[position])
        if dim is not None:
            shape.insert(dim, 3)
        arguments.append(torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(position)))
    assert_same(vmap(with_backend("loop"), in_dims)(*arguments), vmap(with_backend("reference"), in_dims)(*arguments))


def test_vmap_of_vmap_and_of_batched_networks(inputs):
    x, *sets = inputs((4, 2, 3, 2), (4, 2, 1, 2))
    per = vmap(grad(energy("loop"), ALL))
    assert_same(per(x, *sets), vmap(grad(energy("reference"), ALL))(x, *sets))
    x, *sets = inputs((4, 3, 2), (3, 2, 2))
    twice = vmap(vmap(with_backend("loop"), in_dims=(0, None, None, None)), in_dims=(None, 0, 0, 0))
    expected = vmap(vmap(with_backend("reference"), in_dims=(0, None, None, None)), in_dims=(None, 0, 0, 0))
    assert_same(twice(x, *sets), expected(x, *sets))


def test_third_derivatives_by_autograd(inputs):
    arguments = inputs((3, 2), (2,), requires_grad=True)

    def third(name):
        value = energy(name)(*arguments)
        for _ in range(2):
            value = sum((part**2).sum() for part in torch.autograd.grad(value, arguments, create_graph=True))
        return torch.autograd.grad(value, arguments)

    assert_same(third("loop"), third("reference"))


def test_forward_mode_inside_reverse_mode(inputs):
    arguments = inputs((3, 2), (2,), requires_grad=True)

    def mixed(name):
        with torch.autograd.forward_ad.dual_level():
            duals = [torch.autograd.forward_ad.make_dual(t, torch.ones_like(t)) for t in arguments]
            tangent = torch.autograd.forward_ad.unpack_dual(with_backend(name)(*duals)).tangent
            return torch.autograd.grad((tangent**2).sum(), arguments)

    assert_same(mixed("loop"), mixed("reference"))


def test_an_eikonal_loss_reaches_every_parameter(inputs, cpu_backend):
    arguments = inputs((50, 3), (4,), dtype=torch.float32, requires_grad=True)

    def loss(name, values):
        with ops.backend(name):
            (slope,) = torch.autograd.grad(ops.sine_series(*values).sum(), values[0], create_graph=True)
        return torch.autograd.grad(((slope.norm(dim=-1) - 1) ** 2).mean(), values)

    exact = [tensor.detach().double().requires_grad_() for tensor in arguments]
    assert_same(loss(cpu_backend, arguments), loss("reference", exact), rtol=1e-4, atol=1e-4)


def test_batched_gradients_without_torch_func(inputs, cpu_backend):
    arguments = inputs((3, 2), (2,), dtype=torch.float32, requires_grad=True)
    basis = torch.eye(6).reshape(6, 3, 2)

    def jacobian(name):
        return torch.autograd.grad(with_backend(name)(*arguments), arguments, basis, is_grads_batched=True)

    assert_same(jacobian(cpu_backend), jacobian("reference"), rtol=1e-4, atol=1e-5)
