"""SIREN's, FINER's and the Gaussian activation: the contract of the sine series, for one argument."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import grad, hessian, jacfwd, jacrev, vmap

from staf import ops
from staf.ops import native

# name -> (operation, its constant, the formula with nothing shared with the library)
OPERATIONS = {
    "sine": (ops.sine, 3.0, lambda x: torch.sin(3.0 * x)),
    "finer": (ops.finer, 3.0, lambda x: torch.sin(3.0 * (x.abs().detach() + 1) * x)),
    "gauss": (ops.gauss, 1.5, lambda x: torch.exp(-2.25 * x * x)),
}


@pytest.fixture(params=OPERATIONS)
def operation(request):
    function, constant, formula = OPERATIONS[request.param]
    return lambda x: function(x, constant), formula


def test_forward_and_two_derivatives_equal_the_formula(operation, cpu_backend, poisoned):
    mine, formula = operation
    x = torch.linspace(-2, 2, 1001).requires_grad_()
    exact = x.detach().double().requires_grad_()
    expected = formula(exact)
    (expected_slope,) = torch.autograd.grad(expected.sum(), exact, create_graph=True)
    (expected_bend,) = torch.autograd.grad((expected_slope**2).sum(), exact)
    with ops.backend(cpu_backend), ops.record_backends() as ran:
        found = mine(x)
        (slope,) = torch.autograd.grad(found.sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad((slope**2).sum(), x)
    assert {backend for _, backend in ran} == {cpu_backend}
    for one, other in ((found, expected), (slope, expected_slope), (bend, expected_bend)):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5 * float(other.detach().abs().max()))


# FINER's gradient is not the derivative, as its scale is held constant: the formula alone can check it.
@pytest.mark.parametrize("name", ["sine", "gauss"])
def test_gradcheck(name):
    function, constant, _ = OPERATIONS[name]
    x = torch.tensor([-1.3, -0.4, 0.2, 0.9], dtype=torch.float64, requires_grad=True)
    options = {"check_forward_ad": True, "check_batched_grad": True}
    assert torch.autograd.gradcheck(lambda value: function(value, constant), x, **options)
    assert torch.autograd.gradgradcheck(lambda value: function(value, constant), x, check_fwd_over_rev=True)


@pytest.mark.parametrize("modes", ["".join(modes) for n in (2, 3, 4) for modes in itertools.product("fr", repeat=n)])
def test_every_nesting_of_forward_and_reverse_mode(operation, modes):
    mine, formula = operation
    x = torch.tensor([-0.7, 0.3], dtype=torch.float64)

    def nested(function):
        result = lambda value: (function(value) ** 2).sum()  # noqa: E731
        for mode in modes:
            result = (jacfwd if mode == "f" else jacrev)(result)
        return result

    expected = nested(formula)(x)
    assert expected.abs().max() > 0
    torch.testing.assert_close(nested(mine)(x), expected, rtol=1e-9, atol=1e-9)


def test_hessian_and_gradients_per_point(operation):
    mine, formula = operation
    x = torch.tensor([-0.7, 0.3], dtype=torch.float64)
    torch.testing.assert_close(hessian(lambda v: mine(v).prod())(x), hessian(lambda v: formula(v).prod())(x))
    torch.testing.assert_close(vmap(grad(mine))(x), vmap(grad(formula))(x))


def test_vmap_over_other_dimensions_and_gradients_alone(operation):
    mine, formula = operation
    x = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(vmap(mine, in_dims=1, out_dims=2)(x), vmap(formula, in_dims=1, out_dims=2)(x))
    torch.testing.assert_close(jacrev(mine)(x[0, 0]), jacrev(formula)(x[0, 0]))


@pytest.mark.parametrize(
    ("function", "constant", "scale"),
    [
        (ops.sine, 30.0, 1.0),
        (ops.sine, 1e4, 1.0),
        (ops.finer, 30.0, 5.0),
        (ops.finer, 1e2, 9.0),
        (ops.gauss, 10.0, 1.0),
    ],
)
@pytest.mark.skipif(native.library() is None, reason="no C compiler here")
def test_compiled_error_is_below_2e_6_up_to_angles_of_1e4(function, constant, scale):
    x = torch.linspace(-scale, scale, 20011).requires_grad_()
    exact = x.detach().double().requires_grad_()
    found, expected = function(x, constant), function(exact, constant)
    assert (found - expected).abs().max() < 2e-6
    (slope,) = torch.autograd.grad(found.sum(), x)
    (expected_slope,) = torch.autograd.grad(expected.sum(), exact)
    assert (slope - expected_slope).abs().max() < 2e-6 * expected_slope.abs().max()


@settings(max_examples=30, deadline=None)
@given(size=st.integers(0, 10_000), start=st.integers(0, 3), name=st.sampled_from(sorted(OPERATIONS)))
def test_odd_sizes_and_offsets(size, start, name):
    function, constant, formula = OPERATIONS[name]
    whole = torch.linspace(-1, 1, size + start)
    torch.testing.assert_close(function(whole[start:], constant), formula(whole[start:]), rtol=1e-5, atol=2e-6)


def test_non_contiguous_empty_and_half_precision(operation, cpu_backend):
    mine, formula = operation
    x = torch.linspace(-1, 1, 24).reshape(4, 6).t()
    with ops.backend(cpu_backend):
        torch.testing.assert_close(mine(x), formula(x), rtol=1e-5, atol=2e-6)
        assert mine(torch.zeros(0, 3)).shape == (0, 3)
        with pytest.raises(TypeError, match=r"x must be float32 or float64, got torch.bfloat16"):
            mine(x.bfloat16())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = mine(x.bfloat16())
    torch.testing.assert_close(found, formula(x.bfloat16().float()), rtol=1e-5, atol=2e-6)


def test_constants_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="omega0 must be a finite number, got inf"):
        ops.sine(torch.zeros(2), math.inf)
    with pytest.raises(ValueError, match="sigma must be a finite number, got nan"):
        ops.gauss(torch.zeros(2), math.nan)


def test_extreme_inputs():
    x = torch.tensor([0.0, 1e3, -1e30, float("inf"), float("nan")])
    found = ops.gauss(x, 10.0)
    assert found[:4].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert found[4].isnan()
    assert ops.sine(x, 30.0)[:3].abs().max() <= 1.1
    assert ops.finer(torch.tensor([1e4, -1e7]), 30.0).abs().max() <= 1.1


def test_batched_gradients_without_torch_func(operation, cpu_backend):
    mine, formula = operation
    x = torch.linspace(-1, 1, 4).requires_grad_()
    with ops.backend(cpu_backend):
        (found,) = torch.autograd.grad(mine(x), x, torch.eye(4), is_grads_batched=True)
    (expected,) = torch.autograd.grad(formula(x), x, torch.eye(4), is_grads_batched=True)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
