"""What an Execution chooses, and that a forced backend holds for every operation."""

from __future__ import annotations

import pytest
import torch

import staf
from staf import ops
from staf.ops import Execution
from staf.ops.backend import forced_backend, fused_allowed
from staf.ops.linear import current_precision, linear
from staf.ops.squared_error import weighted_squared_error


def sinusoids(device="cpu"):
    return torch.ones(2, device=device), torch.arange(1.0, 3.0, device=device), torch.zeros(2, device=device)


def x(*shape, device="cpu"):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()


def layer(inputs, device, outputs=128):
    return torch.ones(outputs, inputs, device=device), torch.zeros(outputs, device=device)


def squared_error(d="cpu"):
    weight = torch.full((300,), 1 / 300, device=d)
    return weighted_squared_error(x(300, 3, device=d), torch.zeros(300, 3, device=d), weight)


def hash_grid(d="cpu"):
    layout = ops.GridLayout.geometric(2, levels=2, log2_entries=6, coarsest=2, growth=2.0)
    table = torch.ones(layout.entries, 2, device=d, requires_grad=True)
    return ops.hash_grid(x(300, 2, device=d).detach(), table, layout)


# Every operation, and the names under which its parts are noted.
OPERATIONS = {
    "finer": (lambda d="cpu": ops.finer(x(300, 3, device=d), 30.0), {"finer"}),
    "fixed_network": (
        lambda d="cpu": ops.fixed_network(
            x(300, 2, device=d).detach(),
            [(trained(layer(n, d)[0] / (10 * n)), layer(n, d)[1]) for n in (2, 128)],
            *layer(128, d, outputs=3),
            ops.gauss,
            [10.0, 5.0],
        ),
        {"linear", "gauss"},
    ),
    "gauss": (lambda d="cpu": ops.gauss(x(300, 3, device=d), 10.0), {"gauss"}),
    "sine": (lambda d="cpu": ops.sine(x(300, 3, device=d), 30.0), {"sine"}),
    "sine_series": (lambda d="cpu": ops.sine_series(x(300, 3, device=d), *sinusoids(d)), {"sine_series"}),
    "sine_layer": (
        lambda d="cpu": ops.sine_layer(x(300, 2, device=d).detach(), *layer(2, d), *map(trained, sinusoids(d))),
        {"linear", "sine_series"},
    ),
    "sine_network": (
        lambda d="cpu": ops.sine_network(
            x(300, 2, device=d).detach(),
            [(layer(n, d)[0] / (30 * n), layer(n, d)[1], *map(trained, sinusoids(d))) for n in (2, 128)],
            *layer(128, d, outputs=3),
        ),
        {"linear", "sine_series"},
    ),
    "hash_grid": (hash_grid, {"hash_grid"}),
    "linear": (lambda d="cpu": linear(x(300, 16, device=d), *layer(16, d)), {"linear"}),
    "squared_error": (squared_error, {"squared_error"}),
}


def trained(tensor):
    return tensor.requires_grad_()


def test_every_operation_is_listed():
    public = {
        name
        for name in ops.__all__
        if name not in ("Execution", "GridLayout", "SineLayer", "backend", "record_backends")
    }
    folders = {"linear", "squared_error"}
    assert set(OPERATIONS) == public | folders


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("precision", [None, "fp32"])
def test_a_forced_reference_runs_everywhere_forward_and_backward(name, precision):
    operation, parts = OPERATIONS[name]
    with Execution(precision=precision, backend="reference").active(), ops.record_backends() as ran:
        operation().sum().backward()
    assert set(ran) == {(part, "reference") for part in parts}


@pytest.mark.gpu
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("precision", [None, "tf32"])
def test_a_forced_reference_runs_everywhere_on_a_gpu(name, precision):
    operation, parts = OPERATIONS[name]
    with Execution(precision=precision, backend="reference").active(), ops.record_backends() as ran:
        operation("cuda").sum().backward()
    assert set(ran) == {(part, "reference") for part in parts}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_reference_has_the_values_of_the_fastest(name):
    operation, _ = OPERATIONS[name]
    with Execution("fp32").active():
        fastest = operation()
    with ops.backend("reference"):
        torch.testing.assert_close(operation(), fastest, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["reference", "loop"])
def test_products_of_a_cpu_follow_a_forced_backend(backend, monkeypatch):
    from staf.ops.linear import cpu

    monkeypatch.setattr(cpu, "product", lambda *_: pytest.fail("the CPU's own product ran"))
    with Execution("fp32", backend).active():
        assert linear(x(300, 16), torch.ones(32, 16)).shape == (300, 32)


def test_a_whole_network_runs_by_the_reference():
    field = staf.staf(2, 3, width=16, depth=2, generator=torch.Generator().manual_seed(0))
    with Execution("fp32", "reference").active(), ops.record_backends() as ran:
        field(x(300, 2)).sum().backward()
    assert {name for _, name in ran} == {"reference"}


def test_what_is_not_named_stays_as_it_is_around():
    with Execution("tf32").active():
        assert fused_allowed()
        with Execution(backend="loop").active():
            assert (current_precision(), forced_backend(), fused_allowed()) == ("tf32", "loop", False)
        assert (current_precision(), forced_backend()) == ("tf32", None)
    assert (current_precision(), fused_allowed()) == (None, False)
    with Execution(backend="loop").active():
        assert not fused_allowed()


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="precision must be one of fp32, bf16x3, tf32, got 'fp8'"):
        Execution("fp8")
    with pytest.raises(ValueError, match="backend must be one of reference, loop, compiled, triton, got 'cuda'"):
        Execution(backend="cuda")
