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
