"""What a network costs: a pass is timed as the field is saved, and long ones by a part of their points."""

from __future__ import annotations

import pytest
import torch

from paper.measures import run_costs
from paper.runner import Context
from paper.runner.experiment import outcome_of
from staf.nn import incode, siren


def test_a_long_pass_is_timed_by_a_part_of_its_points(monkeypatch):
    seen = []
    field = siren(3, 1, width=4, depth=2)
    field.register_forward_hook(lambda module, given, values: seen.append(len(given[0])))
    monkeypatch.setattr(run_costs, "MOST_TIMED", 50)
    seconds = run_costs.inference_seconds(field, 5000)
    assert set(seen) == {50}
    assert len(seen) == 2 + run_costs.PASSES
    monkeypatch.setattr(run_costs.time, "perf_counter", iter(range(100)).__next__)
    assert run_costs.inference_seconds(field, 5000) == 100.0, "one second for 50 points is 100 for 5,000"
    assert seconds > 0


def test_incode_is_timed_without_its_reader():
    field = incode(2, 3, width=8, depth=2)
    field.harmoniser.register_forward_hook(lambda *_: pytest.fail("the saved field has no reader"))
    with torch.no_grad():
        field.coefficients = lambda: torch.zeros(4)
    assert run_costs.inference_seconds(field, 10) > 0


def test_a_cpu_has_no_peak_of_memory():
    run_costs.forget_peak("cpu")
    assert run_costs.peak_memory("cpu") is None


def test_the_gpu_is_ready_before_its_peak_is_forgotten(monkeypatch):
    called = []
    monkeypatch.setattr(torch.cuda, "init", lambda: called.append("init"))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: called.append(device))
    run_costs.forget_peak("cuda:0")
    assert called == ["init", "cuda:0"]


def test_an_outcome_has_the_costs_of_its_fit(tmp_path):
    import numpy as np

    import staf

    image = staf.open(np.random.default_rng(0).random((6, 5), dtype=np.float32))
    plan = staf.plan(image, staf.Budget(steps=2), device="cpu")
    fit = Context(tmp_path, "one", "cpu").fit(image, plan=plan)
    assert outcome_of(fit, points=30).details["inference_seconds"] > 0
    assert "inference_seconds" not in outcome_of(fit).details
    assert outcome_of(fit).details["memory"] is None
