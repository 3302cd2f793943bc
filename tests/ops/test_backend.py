"""Choosing, forcing and recording implementations."""

from __future__ import annotations

import pytest
import torch

from staf import ops


def test_forcing_ends_with_the_block_and_backward_follows_its_forward(inputs):
    arguments = inputs((4, 3), (2,), dtype=torch.float32, requires_grad=True)
    with ops.record_backends() as ran:
        with ops.backend("loop"):
            found = ops.sine_series(*arguments)
        with ops.backend("reference"):
            found.sum().backward()
    assert ran == [("sine_series", "loop")] * 2
    with ops.record_backends() as ran, ops.backend("reference"):
        ops.sine_series(*arguments)
    assert ran == [("sine_series", "reference")]


def test_nested_forcing_and_errors_restore_the_outer_choice():
    x = torch.zeros(3)
    with ops.record_backends() as ran, ops.backend("reference"):
        with pytest.raises(KeyError), ops.backend("loop"):
            raise KeyError
        ops.sine(x, 1.0)
    assert ran == [("sine", "reference")]


def test_float64_takes_the_loop():
    with ops.record_backends() as ran:
        ops.sine(torch.zeros(3, dtype=torch.float64), 1.0)
    assert ran == [("sine", "loop")]


def test_recorders_are_independent():
    with ops.record_backends() as outer:
        with ops.record_backends() as inner:
            ops.sine(torch.zeros(3, dtype=torch.float64), 1.0)
        ops.gauss(torch.zeros(3, dtype=torch.float64), 1.0)
    assert inner == [("sine", "loop")]
    assert outer == [("sine", "loop"), ("gauss", "loop")]


def test_impossible_choices_are_refused_by_name():
    with pytest.raises(ValueError, match="backend must be one of reference, loop, compiled, triton, got 'cuda'"):
        ops.backend("cuda").__enter__()
    with ops.backend("triton"), pytest.raises(ValueError, match=r"'triton' of sine takes float32 on cuda, got .* cpu"):
        ops.sine(torch.zeros(3), 1.0)
    with ops.backend("compiled"), pytest.raises(ValueError, match=r"takes float32 on cpu, got torch.float64 on cpu"):
        ops.sine(torch.zeros(3, dtype=torch.float64), 1.0)


def test_calls_without_gradients_still_give_forward_mode_and_torch_func_their_due():
    x, ones = torch.linspace(-1, 1, 5), torch.ones(1)
    calls = {
        "series": (lambda value: ops.sine_series(value, ones, ones, 0 * ones), torch.cos(x)),
        "sine": (lambda value: ops.sine(value, 1.0), torch.cos(x)),
    }
    for call, slope in calls.values():
        with torch.no_grad():
            assert not call(x).requires_grad
            torch.testing.assert_close(torch.func.jvp(call, (x,), (torch.ones_like(x),))[1], slope)
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
                torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(call(dual)).tangent, slope)
            torch.testing.assert_close(torch.func.vmap(torch.func.grad(call))(x), slope)
        with torch.inference_mode():
            torch.testing.assert_close(call(x), torch.sin(x))
