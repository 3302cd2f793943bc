from __future__ import annotations

import math

import pytest

from staf.training import schedules
from staf.training.schedules import Constant, Cosine, Exponential


@pytest.mark.parametrize("schedule", [Constant(), Cosine(0.2), Exponential(0.05)])
def test_plain_data_round_trip(schedule):
    assert schedules.from_plain(schedules.to_plain(schedule)) == schedule


def test_values_at_ends_and_middle():
    assert Cosine(0.1)(0.5) == pytest.approx(0.55)
    assert Exponential(0.05)(1.0) == pytest.approx(0.05)
    assert math.isclose(Exponential(0.36)(0.5), 0.6)
    assert Constant()(0.3) == 1.0


def test_unknown_name_and_bad_values_are_refused():
    with pytest.raises(ValueError, match="schedule must be one of constant, cosine, exponential, got 'linear'"):
        schedules.from_plain({"name": "linear"})
    with pytest.raises(ValueError, match="floor must be in"):
        Cosine(1.5)
    with pytest.raises(ValueError, match="final must be in"):
        Exponential(0.0)
