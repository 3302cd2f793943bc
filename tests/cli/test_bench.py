from __future__ import annotations

import json

import pytest

from staf import benchmarking, ops
from tests.benchmarking.tiny import tiny


@pytest.fixture
def small(monkeypatch):
    """A short suite of two tiny cases."""
    monkeypatch.setattr(benchmarking, "short_cases", lambda device: [tiny(), tiny("latency", "siren")])
    monkeypatch.setattr("staf.benchmarking.gate.POINTS", 11)
    monkeypatch.setattr("staf.benchmarking.gate.WIDTH", 8)


def test_the_table_is_printed_and_the_picture_drawn(small, staf, here):
    ran = staf("bench", "--device", "cpu")
    assert ran.code == 0, ran.err
    assert "train staf tau 3, 16 points" in ran.out
    assert "released" in ran.out
    assert "gate: " in ran.err
    folder = here / "runs" / "bench"
    assert (folder / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((folder / "bench.json").read_text())["complete"]
    assert "| case |" in (folder / "bench.md").read_text()
    assert "already holds a run" in staf("bench").refused()
    again = staf("bench", "--overwrite", "--only", "latency*", "--json")
    assert {record["kind"] for record in again.json["records"]} == {"latency"}


def test_a_wrong_operation_leaves_no_numbers(small, staf, here, monkeypatch):
    monkeypatch.setattr(ops, "sine_series", lambda x, c, w, p: x)
    ran = staf("bench", "--device", "cpu")
    assert ran.code == 1
    assert ran.out == ""
    assert "nothing is reported" in ran.err
    assert not (here / "runs").exists()


def test_a_pattern_that_matches_nothing_lists_the_cases(small, staf):
    assert "matches no case; the cases are train staf tau 3" in staf("bench", "--only", "x").refused()


def test_a_file_in_the_way_is_refused(small, staf, here):
    (here / "taken").write_text("")
    assert "is a file" in staf("bench", "--out", "taken").refused()
