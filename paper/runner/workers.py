"""Worker processes for a sweep: each runs one configuration after another with its share of the cores.

A worker that dies (killed for memory, say) costs the run it was at, which is recorded as failed, and is replaced.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from paper.runner.experiment import Experiment
from paper.runner.sweep import Job, execute, record_failure

# A fit finishes its step and writes a checkpoint before it goes.
SECONDS_TO_LEAVE = 60.0


def run_in_processes(
    experiment: Experiment,
    jobs: Sequence[Job],
    folder: Path,
    device: str,
    workers: int,
    threads: int,
    done: Callable[[Job], None],
) -> None:
    """Run `jobs`, each in one of `workers` processes with `threads` torch threads; `done` is called as they end."""
    # Fresh processes, because torch's thread pools do not survive a fork.
    start = multiprocessing.get_context("spawn")
    queue = list(reversed(jobs))
    busy: dict[Connection, tuple[BaseProcess, Job]] = {}

    def launch(job: Job) -> None:
        here, there = start.Pipe()
        process = start.Process(target=_work, args=(there, experiment, folder, device, threads))
        process.start()
        there.close()
        here.send(job)
        busy[here] = (process, job)

    try:
        while queue and len(busy) < workers:
            launch(queue.pop())
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                process, job = busy.pop(ready)
                try:
                    ready.recv()
                except EOFError:
                    process.join()
                    why = f"the worker process ended with code {process.exitcode}; a negative code is a signal"
                    record_failure(experiment, job, folder, message=why)
                    ready.close()
                    done(job)
                    if queue:
                        launch(queue.pop())
                    continue
                done(job)
                following = queue.pop() if queue else None
                ready.send(following)
                if following is None:
                    process.join()
                    ready.close()
                else:
                    busy[ready] = (process, following)
    finally:
        for process, _ in busy.values():
            process.terminate()
        for connection, (process, _) in busy.items():
            process.join(SECONDS_TO_LEAVE)
            if process.is_alive():
                process.kill()
            connection.close()


def _work(connection: Connection, experiment: Any, folder: Path, device: str, threads: int) -> None:
    # In a group of its own a worker is not struck by the terminal's Ctrl-C; the parent passes one SIGTERM on.
    os.setpgrp()
    import torch

    torch.set_num_threads(threads)
    try:
        while (job := connection.recv()) is not None:
            execute(experiment, job, folder, device)
            connection.send(job.key)
    except (EOFError, KeyboardInterrupt):
        # The parent is gone or is leaving; a fit under way has written its checkpoint.
        return
