from __future__ import annotations

import math

import pytest

from staf.training.history import History, decibels


def test_decibels_at_the_edges():
    assert decibels(0.0) == math.inf
    assert decibels(math.nan) == -math.inf
    assert decibels(0.04, peak=2.0) == pytest.approx(20.0)


def test_rows_survive_plain_data_and_csv():
    history = History()
    history.append(0, 0.1, 1.0, 0.5)
    history.append(1, 0.01, 0.9, 1.0)
    assert History.from_plain(history.to_plain()).psnr == pytest.approx([10.0, 20.0])
    assert history.to_csv().splitlines()[2] == "1,0.01,20.0000,0.9,1.0000"
    assert len(history) == 2


def test_ragged_columns_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        History.from_plain({"step": [0], "loss": [], "multiplier": [1.0], "seconds": [0.0]})
