"""The shared runner: every configuration becomes a result file, once.

A finished configuration is not run again while its result file exists. The key of a result is the hash of the
experiment's name and version, the library's minor version, the configuration, and the data's contents.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paper.runner.experiment import Context, Experiment, write_arrays
from paper.runner.result import RunResult, read_result, write_result
from staf import __version__
from staf._jsonable import digest, jsonable
from staf._machine import cores, provenance
from staf.comparison.progress import SweepProgress


@dataclass(frozen=True)
class Job:
    """One configuration with its key and the stem of its files."""

    configuration: Any
    key: str
    stem: str
    label: str


@dataclass
class Sweep:
    """What a sweep left: finished results in the order of the configurations, failures, and how many were cached."""

    results: list[RunResult] = field(default_factory=list)
    failures: list[RunResult] = field(default_factory=list)
    cached: int = 0


def run_experiment(
    experiment: Experiment,
    configurations: Iterable[Any],
    folder: str | Path,
    *,
    workers: int | None = None,
    device: str | None = None,
    retry: bool = False,
    progress: bool = True,
) -> Sweep:
    """Run every configuration that has no result in `folder` yet, and return all results.

    `workers` processes share the cores; None takes one per core on a CPU and one in all on a GPU. A run that raises
    is recorded with its message and the others are still run; `retry` runs recorded failures again. Ctrl-C keeps what
    is finished and a checkpoint of what is not: rerun the same call to continue.
    """
    folder = Path(folder)
    device = device or default_device()
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    jobs = list({job.key: job for job in (job_of(experiment, c) for c in configurations)}.values())
    folder.mkdir(parents=True, exist_ok=True)
    pending = []
    for job in jobs:
        path = result_path(folder, job)
        if not path.exists() or (retry and read_result(path).failed):
            pending.append(job)
    workers = min(workers or (1 if device.startswith("cuda") else cores()), max(1, len(pending)))
    bar = SweepProgress(len(jobs), len(pending), shown=progress)
    if workers == 1:
        for job in pending:
            bar.start(job.label)
            _finish(bar, job, execute(experiment, job, folder, device))
    else:
        from paper.runner.workers import Work, run_in_processes

        def done(work: Work) -> None:
            _finish(bar, work.job, read_result(result_path(folder, work.job)))

        works = [Work(experiment, job, folder) for job in pending]
        run_in_processes(works, device, workers, max(1, cores() // workers), done)
    sweep = Sweep(cached=len(jobs) - len(pending))
    for job in jobs:
        result = read_result(result_path(folder, job))
        (sweep.failures if result.failed else sweep.results).append(result)
    return sweep


def job_of(experiment: Experiment, configuration: Any) -> Job:
    """The key and file names of a configuration."""
    minor = ".".join(__version__.split(".")[:2])
    key = digest(
        {
            "experiment": experiment.name,
            "version": experiment.version,
            "staf": minor,
            "configuration": jsonable(configuration),
            "data": experiment.data(configuration).sha256,
        }
    )
    label = experiment.label(configuration)
    slug = re.sub(r"[^\w.=+-]+", "-", label).strip("-.")[:80]
    return Job(configuration, key, f"{slug}-{key[:12]}", label)


def result_path(folder: Path, job: Job) -> Path:
    return folder / f"{job.stem}.json"


def execute(experiment: Experiment, job: Job, folder: Path, device: str) -> RunResult:
    """Run one job in this process and write its result, or its failure."""
    context = Context(folder, job.stem, device)
    started = time.monotonic()
    try:
        outcome = experiment.run(job.configuration, context)
    except Exception as error:
        return record_failure(
            experiment,
            job,
            folder,
            message=f"{type(error).__name__}: {error}",
            trace=traceback.format_exc(),
            **provenance(device),
        )
    names = list(outcome.shared)
    if outcome.arrays:
        write_arrays(folder / f"{job.stem}.npz", outcome.arrays)
        names.append(f"{job.stem}.npz")
    result = write_result(
        result_path(folder, job),
        {
            "status": "done",
            **_about(experiment, job),
            "metrics": outcome.metrics,
            "details": outcome.details,
            "history": outcome.history,
            "arrays": names,
            "wall_seconds": round(time.monotonic() - started, 4),
            **provenance(device),
        },
    )
    context.checkpoint.unlink(missing_ok=True)
    return result


def record_failure(experiment: Experiment, job: Job, folder: Path, **what: Any) -> RunResult:
    """Write a result file that says why there is no result."""
    return write_result(result_path(folder, job), {"status": "failed", **_about(experiment, job), **what})


def _finish(bar: SweepProgress, job: Job, result: RunResult) -> None:
    if result.failed:
        bar.finish(job.label, {}, failure=result.summary)
    else:
        bar.finish(job.label, result.metrics)


def _about(experiment: Experiment, job: Job) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "version": experiment.version,
        "key": job.key,
        "label": job.label,
        "protocol": experiment.protocol,
        "configuration": jsonable(job.configuration),
        "data": jsonable(experiment.data(job.configuration)),
        "seed": getattr(job.configuration, "seed", None),
    }


def default_device() -> str:
    """A GPU if there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
