"""Image studies: full and small networks are not mixed, and seconds are of the runs that had the machine alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.experiments.tau_ablation import STUDY
from paper.report.image_tables import is_small, study_tables
from paper.runner import RunResult


def run(terms: int, psnr: float, *, image: str = "kodim05", device: str = "cuda", **arguments: int) -> RunResult:
    document = {
        "configuration": {
            "row": {"name": f"tau {terms}", "arguments": {"terms": terms, **arguments}},
            "protocol": "ours", "length": {"iterations": 500}, "seed": 0,
        },
        "details": {
            "training_seconds": 2.0 * terms,
            "images": {image: {"psnr": psnr, "training_seconds": 2.0 * terms, "inference_seconds": 0.5}},
        },
        "data": {"name": image}, "device": device, "machine": "a machine",
    }  # fmt: skip
    return RunResult(Path("x"), document)


def test_small_networks_have_a_table_of_their_own():
    results = [run(2, 30.0), run(2, 40.0, image="kodim23"), run(2, 10.0, width=64, device="cpu")]
    assert [is_small(result) for result in results] == [False, False, True]
    found = study_tables(STUDY, results)
    assert list(found) == ["tau-ablation", "tau-ablation-small", "tau-ablation-seconds"]
    full, small, _ = found.values()
    assert [row[0] for row in full.rows] == [row[0] for row in small.rows] == ["tau 2"]
    assert any(cell.startswith("35.00") for cell in full.rows[0])
    assert "10.00" in small.rows[0]
    assert not any(name.startswith("training") for name in full.columns)


def test_seconds_are_of_the_image_that_ran_alone():
    results = [run(2, 30.0), run(5, 30.0), run(5, 30.0, image="kodim23"), run(2, 10.0, width=64, device="cpu")]
    seconds = study_tables(STUDY, results)["tau-ablation-seconds"]
    training = seconds.columns.index("training (s), our default")
    assert len(set(seconds.columns)) == len(seconds.columns)
    assert [(row[0], float(row[training])) for row in seconds.rows] == [("tau 2", 4.0), ("tau 5", pytest.approx(10.0))]
    assert study_tables(STUDY, results[3:])["tau-ablation-seconds"].rows == []


def test_costs_are_counts_and_quality_apart():
    from paper.experiments.cost_table import STUDY as COSTS

    one = run(5, 30.0)
    counts = {"parameters": 198_975, "operations": {"products": 100, "elementwise": 7}}
    row = {"name": "staf, tau 5", "arguments": {}}
    configuration = {**one.configuration, "row": row}
    document = {**one.document, "configuration": configuration, "details": {**one.details, **counts}}
    found = study_tables(COSTS, [RunResult(Path("x"), document)])
    (cost,) = found["cost-table"].rows
    assert {"198,975", "107", "7.0%"} <= set(cost), "networks that were not run are left out"
    assert "30.00" in found["cost-table-quality"].rows[0]
