"""The table of networks and protocols has what each run cost, where that was measured."""

from __future__ import annotations

from pathlib import Path

from paper.report.protocol_table import protocol_table, without_seconds
from paper.runner import RunResult


def run(model: str, seed: int = 0, **details: float | dict[str, int] | None) -> RunResult:
    document = {
        "configuration": {"model": model, "protocol": "ours", "seed": seed},
        "details": {"steps": 5, "seconds": 2.0, "parameters": 1000, **details},
        "metrics": {"psnr": 30.0},
        "data": {"name": "x"},
    }
    return RunResult(Path("x"), document)


def test_costs_are_shown_where_they_were_measured():
    results = [run("staf", memory=2**29, inference_seconds=0.002), run("siren"), run("staf", 1, memory=2**30)]
    results.append(results[-1])
    table = protocol_table("Title", results, {"psnr": ("PSNR", 2)}, {})
    assert table.columns[-5:] == ["seconds", "inference (s)", "memory (GiB)", "seeds", "runs"]
    assert {row[0]: row[-5:] for row in table.rows} == {
        "staf": ["2.0", "0.00200", "0.83", "2", "3"],
        "siren": ["2.0", "-", "-", "1", "1"],
    }
    counted = [run("staf", operations={"products": 395_776, "elementwise": 26_371})]
    (row,) = protocol_table("Title", counted, {"psnr": ("PSNR", 2)}, {}).rows
    assert row[-3:] == ["422,147", "1", "1"]
    assert without_seconds(table).columns[-3:] == ["memory (GiB)", "seeds", "runs"]
    plain = protocol_table("Title", [run("siren", memory=None)], {"psnr": ("PSNR", 2)}, {})
    assert plain.columns[-3:] == ["seconds", "seeds", "runs"]


def test_a_fit_without_a_surface_has_an_infinite_distance_and_no_spread():
    results = [run("staf"), run("staf"), run("siren"), run("siren")]
    for result, distance in zip(results, (1e-6, 3e-6, float("inf"), 1e-6), strict=True):
        result.document["metrics"]["chamfer"] = distance
    table = protocol_table(
        "Title", results, {"psnr": ("PSNR", 2), "chamfer": ("Chamfer", 2)}, {}, scientific=["chamfer"]
    )
    assert {row[0]: row[3] for row in table.rows} == {"staf": "2.00e-06 ± 1.41e-06", "siren": "inf"}
