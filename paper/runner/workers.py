"""Worker processes for a sweep: each runs one configuration after another with its share of the cores.

A worker that dies (killed for memory, say) costs the run it was at, which is recorded as failed, and is replaced. So is
a worker whose run has failed: after some errors a process can use its GPU no more.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from paper.runner.experiment import Experiment
from paper.runner.sweep import Job, execute, record_failure

# A fit finishes its step and writes a checkpoint before it goes.
SECONDS_TO_LEAVE = 60.0


@dataclass(frozen=True)
class Work:
    """A job with its experiment and the folder of its result."""

    experiment: Experiment
    job: Job
    folder: Path


def run_in_processes(
    works: Iterable[Work],
    device: str,
    workers: int,
    threads: int,
    done: Callable[[Work], None],
    *,
    seconds: float | None = None,
    leave: float = SECONDS_TO_LEAVE,
) -> bool:
    """Run `works`, each in one of `workers` processes with `threads` torch threads; `done` is called as they end.

    `works` is read as workers become free. After `seconds` no more is begun, and what is under way has `leave`
    seconds to end. Returns whether everything was run.
    """
    # Fresh processes, because torch's thread pools do not survive a fork.
    start = multiprocessing.get_context("spawn")
    queue = iter(works)
    busy: dict[Connection, tuple[BaseProcess, Work]] = {}
    deadline = None if seconds is None else time.monotonic() + seconds

    def launch(work: Work) -> None:
        here, there = start.Pipe()
        process = start.Process(target=_work, args=(there, device, threads))
        process.start()
        there.close()
        here.send(work)
        busy[here] = (process, work)

    try:
        while len(busy) < workers and (work := next(queue, None)) is not None:
            launch(work)
        while busy:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if left == 0:
                return False
            for ready in wait(list(busy), left):
                assert isinstance(ready, Connection)
                process, work = busy.pop(ready)
                try:
                    stays = ready.recv()
                except EOFError:
                    process.join()
                    why = f"the worker process ended with code {process.exitcode}; a negative code is a signal"
                    record_failure(work.experiment, work.job, work.folder, message=why)
                    stays = False
                done(work)
                following = next(queue, None)
                if stays and following is not None:
                    ready.send(following)
                    busy[ready] = (process, following)
                    continue
                if stays:
                    ready.send(None)
                _end(process, leave)
                ready.close()
                if following is not None:
                    launch(following)
        return True
    finally:
        for process, _ in busy.values():
            process.terminate()
        for connection, (process, _) in busy.items():
            _end(process, leave)
            connection.close()


def _end(process: BaseProcess, seconds: float) -> None:
    """Wait for a process that is leaving; one that does not is killed."""
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()


def _work(connection: Connection, device: str, threads: int) -> None:
    # In a group of its own a worker is not struck by the terminal's Ctrl-C; the parent passes one SIGTERM on.
    os.setpgrp()
    import torch

    torch.set_num_threads(threads)
    try:
        while (work := connection.recv()) is not None:
            result = execute(work.experiment, work.job, work.folder, device)
            if result.failed:
                connection.send(False)
                return
            if device.startswith("cuda"):
                # Workers share the device: what a finished run still holds, the others lack.
                gc.collect()
                torch.cuda.empty_cache()
            connection.send(True)
    except (EOFError, KeyboardInterrupt):
        # The parent is gone or is leaving; a fit under way has written its checkpoint.
        return
