from __future__ import annotations

import math

import numpy as np
import pytest

from paper.measures.step_times import clock, first_times, smoothed, timed_history


def test_the_start_is_what_the_first_group_took_beyond_its_steps():
    # Two steps with eight seconds of compiling, then groups of 3 and 5 at 0.1 s a step.
    seconds = [8.2] * 2 + [8.5] * 3 + [9.0] * 5
    read = clock(seconds)
    assert read.start == pytest.approx(8.0)
    assert read.step == pytest.approx(0.1)
    assert read.training == pytest.approx(0.1 * np.arange(1, 11))


def test_a_group_held_up_does_not_move_the_step():
    seconds = [1.1] + [1.1 + 0.1 * i for i in range(1, 9)] + [9.0]
    read = clock(seconds)
    assert read.step == pytest.approx(0.1)
    assert read.start == pytest.approx(1.0)
    assert read.training[-1] == pytest.approx(8.0)


def test_one_group_has_no_start():
    read = clock([3.0, 3.0, 3.0])
    assert (read.start, read.step) == (0.0, 1.0)
    assert read.training.tolist() == [1.0, 2.0, 3.0]
    assert math.isnan(clock([]).step)


def test_a_mini_batch_is_judged_by_its_epoch():
    assert smoothed([1.0, 0.1, 0.1, 0.4], 2).tolist() == pytest.approx([1.0, 0.55, 0.1, 0.25])
    assert smoothed([1.0, 0.1], 1).tolist() == [1.0, 0.1]


def test_a_level_is_reached_once():
    assert first_times(np.array([1.0, 2.0, 3.0]), np.array([30.0, 29.0, 30.0]), (30,)) == {"30": 1.0}
    timed = timed_history([0, 1, 2], [1e-2, 1e-3, 1e-4], [1.0, 2.0, 3.0], window=1)
    assert timed["details"]["reached"] == {"30": 2.0, "35": 3.0, "40": 3.0}
    assert timed["details"]["step_ms"] == 1000
