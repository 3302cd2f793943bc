"""The analyses by name: what they say is what the functions return."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.analysis import Dynamics, compare_kernels, role_shares
from staf.analysis.points import chord, few_points
from staf.analysis.registry import RESULTS, _small_fit
from staf.kinds import Audio, Image
from tests.analysis.results import FIELD, SIDE, picture, result, small_field


@pytest.mark.parametrize("name", RESULTS)
def test_every_entry_says_something(name: str) -> None:
    found = result(name)
    assert RESULTS[name].description
    assert found.heading
    assert found.rows
    assert found.text().count("\n") == len(found.rows)


def test_the_network_passed_is_compared_with_the_papers() -> None:
    found = result("ntk")
    assert found.data["names"][0] == "this network"
    assert len(found.data["names"]) == 7
    points = few_points(picture())
    own = compare_kernels({"one": small_field()}, points.coordinates, points.shape, points.target)
    assert np.allclose(found.data["eigenvalues"][0], own.spectra[0].eigenvalues)
    assert found.data["eigenfunctions"].shape == (7, 5, SIDE, SIDE)
    assert own.cumulative is not None
    assert np.allclose(found.data["cumulative"][0], own.cumulative[0])


def test_roles_are_those_of_the_network() -> None:
    shares = role_shares(small_field(), few_points(picture()).coordinates)
    assert result("ntk-roles").data["shares"][0, 0, 1] == pytest.approx(shares["amplitude"])


def test_the_smallest_residual_is_predicted_best() -> None:
    runs = result("lazy").data["runs"]
    errors = [np.abs(np.array(run["observed"]) / run["predicted"] - 1).max() for run in runs]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 3


def test_dynamics_and_freezing_leave_the_passed_network_alone() -> None:
    assert Dynamics.from_plain(result("dynamics").data).step[-1] == 300
    frozen = result("freeze").data["frozen"]["dynamics"]["change"]["phase"]
    assert np.array(frozen)[:120].all()
    assert not np.array(frozen)[120:].any()
    fresh = small_field().parameters()
    assert all(torch.equal(a, b) for a, b in zip(FIELD.parameters(), fresh, strict=True))


def test_a_field_of_one_coordinate_is_looked_at_on_a_sound() -> None:
    field = staf.staf(1, 1, width=8, depth=2)
    assert RESULTS["activation-maps"].run(field, 0).data["maps"][0].shape == (8, 1024)
    shares = role_shares(field, chord(most=256).coordinates)
    assert RESULTS["ntk-roles"].run(field, 0).data["shares"][0, 0, 1] == pytest.approx(shares["amplitude"])


def test_a_field_of_three_coordinates_needs_a_signal() -> None:
    with pytest.raises(ValueError, match="3 coordinates needs a signal"):
        RESULTS["ntk"].run(staf.siren(3, 1, width=8), 0)
    with pytest.raises(ValueError, match="one or two coordinates"):
        RESULTS["activation-maps"].run(staf.siren(3, 1, width=8), 0)


@pytest.mark.parametrize(("inputs", "outputs", "points"), [(2, 3, 64 * 64), (1, 2, 4096)])
def test_without_a_signal_a_fit_is_of_one_that_the_field_can_fit(inputs: int, outputs: int, points: int) -> None:
    field = staf.staf(inputs, outputs, width=8, depth=2)
    task, make = _small_fit(field, 0, None)
    assert task.signal.values().shape == (points, outputs)
    assert make(torch.Generator())(torch.zeros(1, inputs)).shape == (1, outputs)


def test_long_recordings_are_fitted_on_a_window_from_the_middle() -> None:
    samples = np.sin(np.arange(10_000) / 7).astype(np.float32) / 2
    task, make = _small_fit(None, 0, Audio(samples, rate=8000))
    assert np.allclose(task.signal.values()[:, 0], samples[2952 : 2952 + 4096], atol=1e-6)
    assert float(make(torch.Generator().manual_seed(0)).activation(0).frequency.detach().max()) == pytest.approx(3000.0)


def test_maps_are_of_the_signals_shape_and_sounds_are_asked_of_audio() -> None:
    image = Image(np.zeros((30, 20, 3), dtype=np.uint8))
    assert RESULTS["activation-maps"].run(None, 0, image).data["maps"][0].shape == (8, 30, 20)
    with pytest.raises(ValueError, match="the signal is image"):
        RESULTS["ntk-audio"].run(None, 0, image)
    with pytest.raises(ValueError, match="reads 1 coordinates, and the signal has 2"):
        RESULTS["activation-maps"].run(staf.staf(1, 1, width=8, depth=2), 0, image)
