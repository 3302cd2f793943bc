"""The runner: gate first, turns, records, failures."""

from __future__ import annotations

import json
import time

import pytest
import torch

from staf import ops
from staf.benchmarking import GateError, measurement, run_cases, runner
from staf.benchmarking.programs import Program
from tests.benchmarking.tiny import QUICK, tiny


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("staf.benchmarking.gate.POINTS", 11)
    monkeypatch.setattr("staf.benchmarking.gate.WIDTH", 8)


def run(cases, **options):
    return run_cases("short", cases, device="cpu", seed=3, effort=QUICK, **options)


def test_the_document_says_what_was_measured_where():
    said, kept = [], []
    document = run([tiny(), tiny("inference", "siren")], say=said.append, keep=lambda d: kept.append(json.dumps(d)))
    assert document["complete"]
    assert document["gate"]["seed"] == 3
    assert document["machine"]["cpu"]
    assert document["load"] >= 0
    assert document["versions"]["torch"] == torch.__version__
    assert [json.loads(text)["complete"] for text in kept] == [False, False, True]
    assert len(document["records"]) == 4
    for record in document["records"]:
        assert len(record["ms_rounds"]) == 2
        assert record["ms"] == pytest.approx(sum(record["ms_rounds"]) / 2)
    released, ours = document["records"][:2]
    assert released["ratio"] == 1
    assert ours["ratio"] == pytest.approx(released["ms"] / ours["ms"])
    assert ours["processor_ratio"] == pytest.approx(released["processor_ms"] / ours["processor_ms"])
    assert sum("round 1" in line for line in said) == 4


def test_processor_time_leaves_out_waiting(monkeypatch):
    monkeypatch.setattr(measurement, "build", lambda *a: Program(lambda: time.sleep(0.05)))
    (record, _) = run([tiny()])["records"]
    assert record["ms"] >= 50
    assert record["processor_ms"] < 20


def test_nothing_is_timed_when_an_operation_is_wrong(monkeypatch):
    monkeypatch.setattr(ops, "sine_series", lambda x, c, w, p: x)
    monkeypatch.setattr(runner, "run_case", lambda *a: pytest.fail("timed"))
    kept = []
    with pytest.raises(GateError):
        run([tiny()], keep=kept.append)
    assert kept == []


def test_versions_take_turns(monkeypatch):
    order = []

    def build(case, version, device):
        order.append(version.name)
        return Program(lambda: None)

    monkeypatch.setattr(measurement, "build", build)
    run([tiny()])
    assert order == ["released", "staf fp32"] * 2


def test_one_failing_version_costs_its_own_row(monkeypatch):
    real = measurement.build

    def build(case, version, device):
        if version.ours:
            raise RuntimeError("no such kernel\nsecond line")
        return real(case, version, device)

    monkeypatch.setattr(measurement, "build", build)
    document = run([tiny()])
    released, ours = document["records"]
    assert released["ms"] > 0
    assert ours["ms"] is None
    assert ours["ratio"] is None
    assert runner.failures(document) == [f"{tiny().label}: staf fp32: failed: RuntimeError: no such kernel"]


def test_the_released_form_gets_fewer_points_at_a_time_when_memory_runs_out(monkeypatch):
    real, tried = measurement.build, []

    def build(case, version, device):
        tried.append((version.name, case.chunk))
        if not version.ours and (case.chunk or 16) > 4:
            raise torch.OutOfMemoryError("out of memory")
        return real(case, version, device)

    monkeypatch.setattr(measurement, "build", build)
    document = run([tiny()])
    assert [chunk for name, chunk in tried if name == "released"][:3] == [None, 8, 4]
    assert document["records"][0]["notes"] == ["4 points at a time"]
    assert document["records"][1]["notes"] == []
