from __future__ import annotations

import json
import math

import pytest
import torch

from paper.runner import load_results, run_experiment
from paper.runner.sweep import job_of
from tests.paper.runner.toy import Toy, ToyRun


@pytest.fixture
def toy(tmp_path):
    return Toy(str(tmp_path / "log"))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def sweep(toy, folder, configurations, **how):
    return run_experiment(toy, configurations, folder, workers=1, device="cpu", progress=False, **how)


def test_a_result_records_what_it_came_from(toy, folder):
    (result,) = sweep(toy, folder, [ToyRun(3.0, seed=4)]).results
    document = json.loads(result.path.read_text())
    assert document["metrics"] == {"square": 9.0}
    assert document["configuration"] == {"value": 3.0, "seed": 4, "mischief": ""}
    assert document["data"] == {"name": "toy data", "sha256": "data"}
    assert (document["experiment"], document["seed"], document["protocol"]) == ("toy", 4, toy.protocol)
    assert document["versions"]["torch"] == str(torch.__version__)
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["cpu"]
    assert document["date"].startswith("20")
    assert document["details"] == {"pair": [1, 2]}
    assert document["commit"] is None or len(document["commit"].removesuffix("+changes")) == 40
    arrays = result.arrays()
    assert arrays["values"].tolist() == [9.0] * 3
    assert arrays["one"].tolist() == [1.0]
    assert result.path.name.startswith("value-3-seed-4-")


def test_finished_configurations_are_not_run_again(toy, folder):
    sweep(toy, folder, [ToyRun(1.0), ToyRun(2.0)])
    again = sweep(toy, folder, [ToyRun(1.0), ToyRun(2.0), ToyRun(3.0), ToyRun(3.0)])
    assert toy.runs() == 3
    assert again.cached == 2
    assert [result.metrics["square"] for result in again.results] == [1.0, 4.0, 9.0]


def test_a_key_follows_configuration_data_and_version(toy):
    key = job_of(toy, ToyRun(1.0)).key
    assert key == job_of(toy, ToyRun(1.0)).key
    others = [
        job_of(toy, ToyRun(1.0, seed=1)),
        job_of(Toy(toy.log, contents="other"), ToyRun(1.0)),
        job_of(Toy(toy.log, version=2), ToyRun(1.0)),
    ]
    assert len({key, *(job.key for job in others)}) == 4


def test_where_data_lies_is_no_part_of_a_key(toy):
    assert job_of(toy, ToyRun(1.0)).key == job_of(Toy("elsewhere"), ToyRun(1.0)).key


def test_a_failure_is_recorded_and_the_others_go_on(toy, folder):
    done = sweep(toy, folder, [ToyRun(1.0), ToyRun(2.0, mischief="raise"), ToyRun(3.0)])
    assert [result.metrics["square"] for result in done.results] == [1.0, 9.0]
    assert [failure.message for failure in done.failures] == ["RuntimeError: as asked"]
    assert "RuntimeError: as asked" in done.failures[0].document["trace"]
    assert len(load_results(folder)) == 2
    assert len(load_results(folder, failed=True)) == 3


def test_failures_run_again_only_on_retry(toy, folder):
    runs = [ToyRun(2.0, mischief="raise once")]
    assert sweep(toy, folder, runs).failures
    assert sweep(toy, folder, runs).failures
    assert toy.runs() == 1
    retried = sweep(toy, folder, runs, retry=True)
    assert not retried.failures
    assert retried.results[0].metrics["square"] == 4.0


def test_infinite_measures_survive_the_file(toy, folder):
    (result,) = sweep(toy, folder, [ToyRun(math.inf)]).results
    json.loads(result.path.read_text(), parse_constant=pytest.fail)
    assert result.metrics["square"] == math.inf


def test_results_of_another_format_are_refused(toy, folder):
    (result,) = sweep(toy, folder, [ToyRun(1.0)]).results
    document = json.loads(result.path.read_text())
    result.path.write_text(json.dumps({**document, "format": 99}))
    with pytest.raises(ValueError, match="format 99"):
        load_results(folder)


def test_progress_says_what_is_left(toy, folder, capsys):
    run_experiment(toy, [ToyRun(1.0), ToyRun(2.0, mischief="raise")], folder, workers=1, device="cpu")
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith("[1/2] value 1 seed/0: square 1; ")
    assert lines[1].endswith(" left")
    assert lines[3] == "[2/2] value 2 seed/0: failed: RuntimeError: as asked"


def test_workers_must_be_positive(toy, folder):
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        run_experiment(toy, [], folder, workers=0, device="cpu")
