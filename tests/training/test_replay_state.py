"""Recorded passes: what they depend on, and which networks are known."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import staf
from staf.training import replay
from staf.training.replay import network_state, parts_of
from tests.training.problem import small_siren
from tests.training.replays import MODELS, Counting

CPU = torch.device("cpu")


def test_the_state_holds_what_a_pass_depends_on():
    field = small_siren()
    before = network_state(field, CPU)
    assert before is not None
    with torch.no_grad():
        field.output.weight.mul_(2.0)
    assert network_state(field, CPU) == before
    field.activation(0).omega0 = 12.0
    assert network_state(field, CPU) != before
    field.activation(0).omega0 = 30.0
    assert network_state(field, CPU) == before
    weight = field.layers[1].weight
    weight.data = weight.data.t()
    assert network_state(field, CPU) != before
    assert network_state(copy.deepcopy(field), CPU) != network_state(field, CPU)


def test_networks_that_are_not_known_or_not_alone_have_no_state():
    assert network_state(nn.Sequential(nn.Linear(2, 2), Counting()), CPU) is None
    assert network_state(small_siren(), torch.device("meta")) is None
    hooked = small_siren()
    handle = hooked.layers[0].register_forward_hook(lambda *given: None)
    assert network_state(hooked, CPU) is None
    handle.remove()
    assert network_state(hooked, CPU) is not None
    hooked.output.forward = lambda x: x
    assert network_state(hooked, CPU) is None
    compiled = small_siren()
    compiled.compile()
    assert network_state(compiled, CPU) is None


def test_constants_of_numpy_are_part_of_the_state_and_arrays_are_not_trusted():
    field = small_siren()
    states = set()
    for omega0 in np.array([10.0, 20.0], np.float32), np.array([10.5, 20.5]):
        for value in omega0:
            field.activation(0).omega0 = value
            states.add(network_state(field, CPU))
    assert len(states) == 4
    assert None not in states
    for array in (torch.tensor(30.0), np.array(30.0)):
        field.activation(0).omega0 = array
        assert network_state(field, CPU) is None


def test_the_precision_of_the_library_is_part_of_the_key_however_it_was_set(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=0))
    field, x = small_siren(), torch.zeros(3, 2)
    library = torch.backends.cuda.matmul
    before = library.fp32_precision
    try:
        keys = []
        for precision in ("ieee", "tf32", "ieee"):
            library.fp32_precision = precision
            keys.append(replay._key(field, x))
    finally:
        library.fp32_precision = before
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize("model", MODELS)
def test_every_own_network_is_known(model):
    field = getattr(staf, model)(2, 3, width=8, depth=2)
    assert network_state(field, CPU) is not None
    assert set(parts_of(field)) == set(field.modules())
