from __future__ import annotations

import time

from staf.benchmarking.timing import Effort, seconds_of


def test_the_median_is_of_all_runs_and_ignores_one_slow():
    waits = iter([0.001, 0.05, 0.001])
    calls = []

    def run():
        calls.append(1)
        time.sleep(next(waits))

    assert 0.001 <= seconds_of(run, "cpu", 3) < 0.04
    assert len(calls) == 3


def test_another_number_of_the_repeats_can_be_picked():
    waits = iter([0.001, 0.03])
    assert seconds_of(lambda: time.sleep(next(waits)), "cpu", 2, pick=max) >= 0.03


def test_effort_bounds_the_repeats():
    effort = Effort(seconds=1.0, least=3, most=20)
    assert [effort.repeats(one) for one in (0.001, 0.1, 0.9, 4.0, 6.0)] == [20, 10, 3, 3, 1]
