"""A list of rows in one queue: lines of `python -m paper`, most valuable first, by processes that share one GPU.

    python -m paper rows list.txt --folder results --workers 6 --seconds 140

A line of the list is what follows `python -m paper`, for example `shapes --shapes lucy.npz --models staf`; variables
of the environment are filled in, and `#` begins a comment. Every row has a result file of its own in
`FOLDER/EXPERIMENT`; a row that has one is not run again, so that the same command continues a list.
"""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from paper.runner.experiment import Experiment
from paper.runner.options import count
from paper.runner.result import read_result
from paper.runner.sweep import default_device, job_of, result_path
from paper.runner.workers import Work, run_in_processes

# Words of a line to its experiment, its configurations and the folder of its results.
Expand = Callable[[list[str], Path], tuple[Experiment, Sequence[object], Path]]


def lines_of(text: str) -> list[list[str]]:
    """The words of every line, without comments, with the environment's variables filled in.

    >>> lines_of("audio --models staf  # the first\\n\\n")
    [['audio', '--models', 'staf']]
    """
    found = [shlex.split(os.path.expandvars(line), comments=True) for line in text.splitlines()]
    return [words for words in found if words]


def pending(lines: Sequence[list[str]], folder: Path, expand: Expand, say: Callable[[str], None]) -> Iterator[Work]:
    """What has no result yet, line by line; a line that cannot be read is said and left out."""
    for words in lines:
        try:
            experiment, configurations, own = expand(words, folder)
            own.mkdir(parents=True, exist_ok=True)
            jobs = {job.key: job for job in (job_of(experiment, c) for c in configurations)}
        except (ValueError, OSError, SystemExit) as error:
            say(f"left out: {' '.join(words)}: {error}")
            continue
        for job in jobs.values():
            if not result_path(own, job).exists():
                yield Work(experiment, job, own)


def main(argv: Sequence[str], expand: Expand) -> int:
    """Exit code 0 if every row has a result; 1 if some failed or were left out, or time was over before all ran."""
    parser = argparse.ArgumentParser(prog="python -m paper rows", description=__doc__)
    parser.add_argument("list", type=Path, help="a text file with a row of arguments in each line")
    parser.add_argument("--folder", type=Path, default=Path("results"), help="where results are kept")
    parser.add_argument("--workers", type=count, default=6, metavar="N", help="processes at a time")
    parser.add_argument("--threads", type=count, default=2, metavar="N", help="torch threads of each")
    parser.add_argument("--seconds", type=float, default=None, metavar="S", help="stop after so long")
    parser.add_argument("--device", default=None, help="cpu, cuda or cuda:N (default: a GPU if there is one)")
    options = parser.parse_args(list(argv))
    began, failed, left_out = time.monotonic(), 0, 0

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {text}", flush=True)

    def done(work: Work) -> None:
        nonlocal failed
        result = read_result(result_path(work.folder, work.job))
        failed += result.failed
        measures = ", ".join(f"{name} {value:.5g}" for name, value in list(result.document.get("metrics", {}).items()))
        seconds = result.document.get("wall_seconds", 0.0)
        said = f"failed: {result.summary}" if result.failed else f"{measures} ({seconds:.1f} s)"
        say(f"{work.experiment.name}: {work.job.label}: {said}")

    def leave_out(text: str) -> None:
        nonlocal left_out
        left_out += 1
        say(text)

    lines = lines_of(options.list.read_text("utf-8"))
    works = pending(lines, options.folder, expand, leave_out)
    device = options.device or default_device()
    complete = run_in_processes(
        works, device, options.workers, options.threads, done, seconds=options.seconds, leave=5.0
    )
    if not complete:
        say("time is over; rerun the same command to continue")
    elif left_out:
        say(f"{left_out} of {len(lines)} lines could not be run, for the reasons above; all other rows have a result")
    else:
        say("all rows have a result")
    return 0 if complete and not failed and not left_out else 1
