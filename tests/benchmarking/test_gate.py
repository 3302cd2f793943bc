"""The gate lets right operations through and stops each kind of wrong one."""

from __future__ import annotations

import pytest
import torch

from staf import ops
from staf.benchmarking import gate
from staf.benchmarking.cases import OURS_SPLIT, OURS_TF32, RELEASED
from staf.ops.linear import current_precision
from staf.ops.squared_error import weighted_squared_error
from tests.benchmarking.tiny import tiny


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(gate, "POINTS", 37)
    monkeypatch.setattr(gate, "WIDTH", 16)


def wrong_value(x, c, w, p):
    return ops.sine_series(x, c, w, p) * (1 + 1e-4)


def wrong_gradient(x, c, w, p):
    return ops.sine_series(x, c, w, p.detach()) + 0 * p.sum()


def wrong_second_gradient(x, c, w, p):
    """Right value and first gradients, whose own gradients are lost."""

    class Value(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.save_for_backward(*tensors)
            return ops.sine_series(*tensors)

        @staticmethod
        def backward(ctx, grad):
            leaves = [tensor.detach().requires_grad_() for tensor in ctx.saved_tensors]
            with torch.enable_grad():
                gradients = torch.autograd.grad(ops.sine_series(*leaves), leaves, grad.detach())
            return tuple(g.detach() + 0 * sum(t.sum() for t in ctx.saved_tensors) for g in gradients)

    return Value.apply(x, c, w, p)


@pytest.mark.parametrize(
    ("wrong", "stage"),
    [(wrong_value, "forward"), (wrong_gradient, "gradients"), (wrong_second_gradient, "second gradients")],
)
def test_a_wrong_series_is_seen_at_its_own_order(wrong, stage, generator):
    checks = gate.check_series(4, "cpu", generator, operation=wrong)
    first_wrong = next(check.what for check in checks if not check.passed)
    assert first_wrong == f"sine_series tau 4, {stage}"


@pytest.mark.parametrize("networks", [None, 3])
def test_the_series_passes_on_every_cpu_backend(networks, generator):
    for backend in ("loop", "reference"):
        with ops.backend(backend):
            checks = gate.check_series(4, "cpu", generator, networks=networks)
        assert all(check.passed for check in checks)
        assert checks[0].backends == (backend,)


@pytest.mark.parametrize("model", ["siren", "finer", "gauss"])
def test_pointwise_operations(model, generator):
    assert all(check.passed for check in gate.check_pointwise(model, "cpu", generator))
    wrong = gate.check_pointwise(model, "cpu", generator, operation=lambda x, constant: torch.sin(constant * x + 0.01))
    assert not wrong[0].passed


def test_a_nan_is_wrong(generator):
    checks = gate.check_series(2, "cpu", generator, operation=lambda x, c, w, p: ops.sine_series(x, c, w, p) / 0)
    assert not any(check.passed for check in checks)


def test_the_cases_decide_what_is_checked():
    cases = [tiny(), tiny(model="siren", versions=(RELEASED, OURS_SPLIT)), tiny(kind="many")]
    names = {check["what"] for check in gate.check_cases(cases, "cpu", seed=1)}
    assert {"sine_series tau 3, forward", "siren, second gradients", "network staf tau 3"} <= names
    assert "sine_series tau 5, 3 networks, gradients" in names
    assert {"linear bf16x3, 16 inputs, gradients", "linear fp32, 2 inputs, forward"} <= names
    assert not any("finer" in name for name in names)


def test_many_sinusoids_are_checked_beside_tf32_products(generator):
    seen = []

    def watched(x, c, w, p):
        seen.append((current_precision(), len(c)))
        return ops.sine_series(x, c, w, p)

    checks = gate.check_reduced("cpu", generator, operation=watched)
    assert seen[-1] == ("tf32", 50)
    assert [check.what.removeprefix("sine_series tau 50, ") for check in checks] == [
        "forward beside tf32",
        "gradients beside tf32",
    ]
    assert all(check.passed and check.tolerance == 2e-5 for check in checks)


@pytest.mark.parametrize(
    ("wrong", "passed"),
    [
        (lambda x, c, w, p: 1.001 * ops.sine_series(x, c, w, p), [False, False]),
        (lambda x, c, w, p: (z := ops.sine_series(x, c, w, p)) + 5e-5 * (z - z.detach()), [True, False]),
    ],
    ids=["value", "gradients"],
)
def test_wrong_sinusoids_beside_tf32_products_are_seen(wrong, passed, generator):
    assert [check.passed for check in gate.check_reduced("cpu", generator, operation=wrong)] == passed


def test_reduced_sinusoids_are_checked_where_a_case_may_use_them():
    def checked(*cases):
        return {check["what"] for check in gate.check_cases(cases, "cpu", seed=1) if "beside tf32" in check["what"]}

    assert len(checked(tiny(versions=(RELEASED, OURS_TF32)))) == 2
    assert not checked(tiny(versions=(RELEASED, OURS_SPLIT)), tiny(model="siren", versions=(RELEASED, OURS_TF32)))


def test_wrong_operations_raise_and_name_what_is_wrong(monkeypatch):
    monkeypatch.setattr(ops, "sine_series", lambda x, c, w, p: torch.zeros_like(x))
    with pytest.raises(gate.GateError, match=r"nothing is reported.*sine_series tau 3, forward: error"):
        gate.check_cases([tiny()], "cpu", seed=1)


def test_a_network_unlike_its_released_twin_is_seen(monkeypatch):
    monkeypatch.setattr(gate, "ReleasedNetwork", lambda field: lambda x: 1.5 * field(x))
    with pytest.raises(gate.GateError, match="network siren: error"):
        gate.check_cases([tiny(model="siren")], "cpu", seed=1)


def test_a_layer_whose_bias_gets_the_wrong_sums_is_seen(generator):
    def wrong(x, w, b, c, f, p, y, v):
        z = ops.sine_series(x @ w.T + (0.9 * b + 0.1 * b.detach()), c, f, p)
        return weighted_squared_error(z, y, v)

    assert gate.check_layer("fp32", "cpu", generator).passed
    assert not gate.check_layer("fp32", "cpu", generator, operation=wrong).passed
