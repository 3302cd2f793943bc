from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from paper.runner import load_results, run_experiment
from paper.runner.sweep import job_of
from paper.runner.workers import Work, run_in_processes
from tests.paper.runner.toy import Toy, ToyRun


def test_processes_share_the_work_and_survive_a_death(tmp_path):
    toy = Toy(str(tmp_path / "log"))
    runs = [ToyRun(1.0), ToyRun(2.0, mischief="die"), ToyRun(3.0, mischief="raise"), ToyRun(4.0), ToyRun(5.0)]
    done = run_experiment(toy, runs, tmp_path / "results", workers=2, device="cpu", progress=False)
    assert [result.metrics["square"] for result in done.results] == [1.0, 16.0, 25.0]
    assert [failure.message for failure in done.failures] == [
        "the worker process ended with code 7; a negative code is a signal",
        "RuntimeError: as asked",
    ]
    processes = {line.split()[1] for line in Path(toy.log).read_text().splitlines()}
    assert len(processes) >= 2
    assert str(os.getpid()) not in processes
    # Two workers share the cores between them.
    assert {result.document["machine"]["threads"] for result in done.results} == {
        max(1, len(os.sched_getaffinity(0)) // 2)
    }


def test_a_worker_whose_run_has_failed_is_replaced(tmp_path):
    toy = Toy(str(tmp_path / "log"))
    works = [Work(toy, job_of(toy, run), tmp_path) for run in (ToyRun(1.0, mischief="raise"), ToyRun(2.0), ToyRun(3.0))]
    ended: list[str] = []
    assert run_in_processes(works, "cpu", 1, 1, lambda work: ended.append(work.job.label))
    assert ended == ["value 1 seed/0", "value 2 seed/0", "value 3 seed/0"]
    failed, second, third = (line.split()[1] for line in Path(toy.log).read_text().splitlines())
    assert failed != second == third


def test_ctrl_c_ends_the_workers_and_keeps_what_is_done(tmp_path):
    toy = Toy(str(tmp_path / "log"))
    runs = [ToyRun(1.0), ToyRun(2.0, mischief="sleep"), ToyRun(3.0, mischief="sleep"), ToyRun(4.0)]

    def strike() -> None:
        limit = time.monotonic() + 60
        while toy.runs() < 3 and time.monotonic() < limit:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=strike)
    watcher.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_experiment(toy, runs, tmp_path / "results", workers=2, device="cpu", progress=False)
    finally:
        watcher.join()
    assert not multiprocessing.active_children()
    assert [result.metrics["square"] for result in load_results(tmp_path / "results")] == [1.0]
