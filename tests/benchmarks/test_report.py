"""Suites, marks, tables and the picture."""

from __future__ import annotations

import pytest

from benchmarks.report import full_table, targets_table, to_markdown
from benchmarks.suites import SUITES
from benchmarks.targets import TARGETS, Target, standing
from staf import benchmarking
from staf.benchmarking import draw, summary_table


def record(version, ms, **more):
    ratio = None if ms is None else 8.0 / ms
    known = {"kind": "train", "network": "staf tau 5", "points": 65536, "notes": [], "peak_gib": None}
    known["processor_ratio"] = ratio
    rounds = [] if ms is None else [ms, ms]
    return {"case": "a | case", "version": version, "ms": ms, "ms_rounds": rounds, "ratio": ratio, **known, **more}


def document(*records):
    return {
        "suite": "cpu",
        "machine": {"gpu": None, "cpu": "a processor", "threads": 1, "cores": 2},
        "versions": {"torch": "2.11", "triton": None},
        "commit": "abc",
        "date": "today",
        "rates": {"matmul_flops": {"fp32": 5e10}, "copy_bytes": 1e10, "sines": None},
        "gate": {"checks": [1, 2], "seed": 7},
        "complete": True,
        "records": list(records),
    }


@pytest.mark.parametrize("suite", ["gpu", "cpu"], ids=["for a GPU", "for a CPU"])
def test_every_mark_is_measured_by_its_suite(suite):
    cases = SUITES[suite]("cuda" if suite == "gpu" else "cpu")
    measured = {(c.kind, c.network, c.points, v.name) for c in cases for v in c.versions}
    for target in TARGETS[suite]:
        kind, network, points = target.record
        for network_needed in (network, target.against or network):
            assert any((kind, network_needed, points, version) in measured for version in target.versions), target.what


@pytest.mark.parametrize("suite", list(SUITES), ids=lambda name: f"suite {name}")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_labels_are_unique_and_the_released_form_comes_first(suite, device):
    cases = SUITES[suite](device)
    assert len({case.label for case in cases}) == len(cases)
    assert all(case.versions[0].name == "released" for case in cases)


def test_a_mark_takes_the_best_version_and_divides_in_the_same_one():
    target = Target("x", "ms", ("train", "staf tau 5", 65536), 1.5, ("staf fp32", "staf bf16x3"), against="siren")
    records = [record("staf fp32", 6.0), record("staf fp32", 3.0, network="siren"), record("staf bf16x3", 4.0)]
    assert standing(target, records).value == 2.0
    assert not standing(target, records).reached
    records.append(record("staf bf16x3", 3.0, network="siren"))
    found = standing(target, records)
    assert (found.version, found.reached) == ("staf bf16x3", True)
    assert standing(target, []) is None


def test_the_tables_show_numbers_notes_and_missing_values():
    run = document(
        record("released", 8.0, notes=["4 points at a time"]), record("staf fp32", 0.4), record("other", None)
    )
    rows = full_table(run).rows
    assert rows[0][1] == "released (4 points at a time)"
    assert rows[1][2:6] == ("0.4", "0%", "20.00x", "20.00x")
    assert rows[2][2:6] == ("-",) * 4
    assert summary_table(run).rows[1] == ("a | case", "staf fp32", "0.4", "20.00x")
    text = to_markdown(run)
    assert "a processor, 1 of 2 threads. torch 2.11. Commit abc" in text
    assert "| tau 5, released / staf, wall time | at least 15 x | 20 x | staf fp32 | yes |" in text
    assert "a \\| case" in text
    assert "not finished" not in text
    assert "not finished" in to_markdown(run | {"complete": False})
    short = benchmarking.to_markdown(run)
    assert "a processor, 1 of 2 threads. torch 2.11. Commit abc" in short
    assert "| a \\| case | staf fp32 | 0.4 | 0% | 20.00x | 20.00x | - |" in short
    assert "Load" not in text
    assert "Load as the run began: 7.0 on 2 cores." in to_markdown(run | {"load": 7.0})


def test_a_suite_without_marks_has_no_table_of_them():
    assert targets_table(document(record("released", 1.0)) | {"suite": "short"}) is None


def test_the_picture_is_a_png_that_grows_with_the_records(tmp_path):
    from PIL import Image

    few = document(record("released", 8.0), record("staf fp32", 0.4), record("other", None))
    more = document(*[record("released", 8.0, case=str(i)) for i in range(9)])
    heights = [Image.open(draw(run, tmp_path / f"{i}.png")).height for i, run in enumerate((few, more))]
    assert heights[0] < heights[1]
