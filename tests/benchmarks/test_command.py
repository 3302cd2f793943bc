"""`python -m benchmarks`: files on success, exit code 1 and none when the gate is red."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import runner
from benchmarks.rates import Rates
from staf import ops
from staf._machine import provenance
from staf.benchmarking import runner as short_runner
from tests.benchmarking.tiny import tiny

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.setitem(runner.SUITES, "short", lambda device: [tiny(), tiny("latency")])
    monkeypatch.setattr(runner, "measure_rates", lambda device: Rates({"fp32": 1e9}, 1e9))
    monkeypatch.setattr("staf.benchmarking.gate.POINTS", 11)
    monkeypatch.setattr("staf.benchmarking.gate.WIDTH", 8)
    return command


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
    monkeypatch.setattr(short_runner, "provenance", lambda device: {**provenance(device), "commit": None})
    out = tmp_path / "run.json"
    words = ["--suite", "short", "--device", "cpu", "--out", str(out), "--seconds", "0.001", "--only", "latency*"]
    assert script.main([*words, "--commit", "abc123"]) == 0
    assert json.loads(out.read_text())["commit"] == "abc123"
    assert "Commit abc123." in out.with_suffix(".md").read_text()


def test_the_old_script_is_the_same_command(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    words = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--help"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "--suite" in done.stdout
