"""The released twins compute what the library's networks compute."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from staf.benchmarking.released_networks import ReleasedNetwork
from tests.benchmarking.tiny import tiny

MODELS = ["staf", "siren", "finer", "gauss", "wire"]


@pytest.mark.parametrize("model", MODELS)
def test_values_and_gradients_are_those_of_the_library(model, generator):
    field = tiny(model=model, depth=3).field("cpu").double()
    released = ReleasedNetwork(field)
    x = (2 * torch.rand(9, 2, generator=generator, dtype=torch.float64) - 1).requires_grad_()
    values, expected = released(x), field(x)
    torch.testing.assert_close(values, expected, rtol=1e-9, atol=1e-12)
    found = torch.autograd.grad(values.square().sum(), x)
    torch.testing.assert_close(found, torch.autograd.grad(expected.square().sum(), x), rtol=1e-8, atol=1e-9)
    count = sum(p.numel() for p in field.parameters())
    assert sum(p.numel() for p in released.parameters() if p.requires_grad) == count


def test_the_weights_are_copies(generator):
    field = tiny().field("cpu")
    released = ReleasedNetwork(field)
    before = field(torch.zeros(1, 2))
    with torch.no_grad():
        for parameter in released.parameters():
            parameter.zero_()
    assert torch.equal(field(torch.zeros(1, 2)), before)


def test_an_activation_without_a_formula_is_refused():
    from staf.nn import CoordinateMLP

    with pytest.raises(TypeError, match="no released formula for ReLU"):
        ReleasedNetwork(CoordinateMLP(2, 3, width=4, depth=2, activation=nn.ReLU))
