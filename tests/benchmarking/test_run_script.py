"""`benchmarks/run.py`: files on success, exit code 1 and none when the gate is red."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from staf import ops
from staf._machine import provenance
from staf.benchmarking import runner
from staf.benchmarking.rates import Rates
from tests.benchmarking.tiny import tiny

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "run.py"


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("run_benchmarks", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(runner.SUITES, "short", lambda device: [tiny(), tiny("latency")])
    monkeypatch.setattr(runner, "measure_rates", lambda device: Rates({"fp32": 1e9}, 1e9))
    monkeypatch.setattr("staf.benchmarking.gate.POINTS", 11)
    monkeypatch.setattr("staf.benchmarking.gate.WIDTH", 8)
    return module


def test_results_and_table_are_written(script, tmp_path, capsys):
    out = tmp_path / "run.json"
    words = ["--suite", "short", "--device", "cpu", "--out", str(out), "--seconds", "0.001", "--only", "latency*"]
    assert script.main(words) == 0
    document = json.loads(out.read_text())
    assert document["complete"]
    assert {record["kind"] for record in document["records"]} == {"latency"}
    assert out.with_suffix(".md").read_text().strip() == capsys.readouterr().out.strip()


def test_a_red_gate_leaves_no_numbers(script, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ops, "sine_series", lambda x, c, w, p: x)
    assert script.main(["--suite", "short", "--device", "cpu", "--out", str(tmp_path / "run.json")]) == 1
    assert list(tmp_path.iterdir()) == []
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "nothing is reported" in seen.err


def test_a_copy_without_a_repository_is_told_its_commit(script, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "provenance", lambda device: {**provenance(device), "commit": None})
    out = tmp_path / "run.json"
    words = ["--suite", "short", "--device", "cpu", "--out", str(out), "--seconds", "0.001", "--only", "latency*"]
    assert script.main([*words, "--commit", "abc123"]) == 0
    assert json.loads(out.read_text())["commit"] == "abc123"
    assert "Commit abc123." in out.with_suffix(".md").read_text()
