"""Programs do the work they are timed for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.suites import OURS_MUON
from staf.benchmarking import programs
from staf.benchmarking.cases import OURS, RELEASED
from staf.training import stepper
from tests.benchmarking.tiny import tiny

KINDS = ["train", "minibatch", "inference", "latency"]


@pytest.fixture(autouse=True)
def small_picture(monkeypatch):
    monkeypatch.setattr(programs, "MINIBATCH_SIDE", 8)


@pytest.fixture
def seen(monkeypatch):
    """The number of points of every call of a network."""
    points: list[int] = []

    def spy(module, arguments):
        points.append(arguments[0].shape[-2])

    real_field = programs.Case.field
    real_released = programs.ReleasedNetwork

    def field(self, *arguments, **options):
        module = real_field(self, *arguments, **options)
        module.register_forward_pre_hook(spy)
        return module

    def released(module):
        twin = real_released(module)
        twin.register_forward_pre_hook(spy)
        return twin

    monkeypatch.setattr(programs.Case, "field", field)
    monkeypatch.setattr(programs, "ReleasedNetwork", released)
    return points


@pytest.mark.parametrize("version", [RELEASED, OURS], ids=lambda version: version.name)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_evaluates_its_points(kind, version, seen):
    program = programs.build(tiny(kind), version, "cpu")
    seen.clear()
    program.run()
    assert sum(seen) == 16
    assert program.wall == (kind == "latency")


@pytest.mark.parametrize("version", [RELEASED, OURS, OURS_MUON], ids=lambda version: version.name)
def test_training_lowers_the_loss(version, monkeypatch):
    networks = []
    real = programs.Case.field
    monkeypatch.setattr(
        programs.Case, "field", lambda self, *a, **o: networks.append(real(self, *a, **o)) or networks[-1]
    )
    real_released = programs.ReleasedNetwork
    monkeypatch.setattr(
        programs, "ReleasedNetwork", lambda field: networks.append(real_released(field)) or networks[-1]
    )
    case = tiny()
    program = programs.build(case, version, "cpu")
    coordinates, target, _ = programs._problem(case, "cpu").batch(None)

    def loss():
        with torch.no_grad():
            return float((networks[-1](coordinates) - target).square().mean())

    before = loss()
    for _ in range(20):
        program.run()
    assert loss() < before


def test_the_steps_are_those_of_the_library_loop(monkeypatch):
    taken = []
    real = stepper.Stepper.step
    monkeypatch.setattr(stepper.Stepper, "step", lambda self: (taken.append(1), real(self))[1])
    program = programs.build(tiny(), OURS, "cpu")
    taken.clear()
    program.run()
    assert len(taken) == program.units == 1


def test_a_chunked_step_has_the_gradients_of_a_whole_one(monkeypatch):
    networks = []
    real = programs.ReleasedNetwork
    monkeypatch.setattr(programs, "ReleasedNetwork", lambda field: networks.append(real(field)) or networks[-1])
    whole = programs.build(tiny(), RELEASED, "cpu")
    chunked = programs.build(tiny(chunk=4), RELEASED, "cpu")
    assert chunked.notes == ["4 points at a time"]
    assert whole.notes == []
    networks[1].load_state_dict(networks[0].state_dict())
    whole.run()
    chunked.run()
    gradients = [torch.cat([p.grad.flatten() for p in network.parameters()]) for network in networks]
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)


def test_pictures_differ_by_seed_and_fill_the_range():
    first, second = programs.picture(64, 0), programs.picture(64, 1)
    assert first.shape == (8, 8)
    assert not np.array_equal(first.array, second.array)
    assert np.ptp(first.array) > 200
    assert programs.picture(7).shape == (1, 7)
