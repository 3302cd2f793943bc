"""`fit_many`: hundreds of small networks trained together, streamed to a folder as they finish."""

from __future__ import annotations

import os
import signal as signals
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from staf.api import Fit, as_callbacks, as_signal, choose_device
from staf.many_plans import Job, PlanBy, Planner
from staf.ops.execution import Execution
from staf.planning.plans import Budget, Plan, points_of
from staf.storage.folder import FieldFolder, unique_names
from staf.tasks import task_for
from staf.training import Callback, Interrupted, Recipe, train
from staf.training.checkpoint import fingerprint
from staf.training.checks import check_seed
from staf.training.progress import Progress, choose_mode
from staf.training.stacked import Copies
from staf.training.stepper import is_out_of_memory

# Bytes that one point of one network needs in a step of a 4 x 256 network: activations, their gradients, the batch.
BYTES_PER_POINT = 20_000


@dataclass
class ManyFits:
    """The outcome of `fit_many`: fits by name, in the order given, and a sentence for each signal that failed.

    With an output folder the fits are on disk and `fits` holds none of them; `files` says where each is.
    """

    fits: dict[str, Fit] = field(default_factory=dict)
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.metrics)

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.fits.values())

    def __getitem__(self, name: str | int) -> Fit:
        return self.fits[name] if isinstance(name, str) else list(self.fits.values())[name]

    @property
    def mean_psnr(self) -> float:
        """Mean PSNR over the finished fits."""
        values = [measures["psnr"] for measures in self.metrics.values()]
        return sum(values) / len(values) if values else float("nan")


def fit_many(
    sources: Iterable[Any],
    recipe: Recipe | None = None,
    *,
    plan: Plan | None = None,
    model: str | None = None,
    plan_by: PlanBy = "size",
    steps: int | None = None,
    seconds: float | None = None,
    target_db: float | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    on_plan: Callable[[Plan, list[str]], None] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    at_once: int | None = None,
    progress: bool | None = None,
) -> ManyFits:
    """Fit each signal with a network of its own, many at once; each equals `staf.fit` of it alone by the same plan.

    Every network starts from `seed`. By default a plan looks at sizes and not at spectra, and signals whose sizes
    differ by less than a factor of two share the plan of the smallest, so that the weights of a data set are
    comparable; `plan_by="spectrum"` gives each signal a plan of its own, by all that is in it. `model` names the
    network ("staf" by default), or `plan` gives network and recipe. Signals whose networks and recipes are equal train
    together, as many as memory holds or `at_once` says (halved when memory runs out); networks that read their signal
    (INCODE) train one after another. Each signal gets its own task and measures, as in `staf.fit`. Batches are full by
    default.

    The budget is `steps` of each network, `seconds` or `target_db`, whichever is reached first. `seconds` is the time
    of each group that trains together, so that all of them take that times the number of groups. A network that has
    reached the target keeps those weights while others of its group train on. `callbacks` are called with a `State` for
    each network after each group of steps, which has its `name`; `on_plan(plan, names)` once before the training for
    the signals that share a plan.

    Signals that cannot be read are reported in `failures`, and the others are fitted. With `out` each finished field is
    written to `out/fields/NAME.safetensors` and listed in `out/index.json`. `resume` skips those that are there, which
    must have been fitted with the same seed, recipe and network.

    >>> import numpy as np, staf
    >>> pictures = [np.full((4, 4, 3), value, dtype=np.uint8) for value in (10, 200)]
    >>> fits = staf.fit_many(pictures, steps=2, progress=False)
    >>> len(fits), fits[0].result.steps
    (2, 2)
    """
    if out is None and resume:
        raise ValueError("resume needs out=FOLDER, where the earlier fits are")
    chosen, watchers = choose_device(device), as_callbacks(callbacks)
    folder = None if out is None else FieldFolder.for_run(out, resume=resume, overwrite=overwrite)
    seed = check_seed(seed)
    planner = Planner(recipe, plan, model, plan_by, Budget(steps, seconds, target_db), seed)
    outcome = ManyFits()
    jobs = _jobs(sources, planner, outcome)
    names = [job.name for job in jobs]
    if folder is not None and resume:
        jobs = [job for job in jobs if not _is_done(job, seed, folder, outcome)]
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.key, []).append(job)
    if on_plan is not None:
        for group in groups.values():
            on_plan(group[0].plan, [job.name for job in group])
    finished, total, started = 0, len(jobs), time.monotonic()
    with Progress(total, None, choose_mode(progress), title="networks", counted="finished") as bar:
        for waiting in groups.values():
            # Neighbours in size need the least padding.
            waiting.sort(key=lambda job: points_of(job.signal))
            while waiting:
                group = _together(waiting, at_once or _capacity(waiting, chosen))
                share = _Share(bar, finished, len(group), total, started)
                try:
                    fits = _fit_group(group, seed, chosen, watchers, share)
                except Interrupted as stop:
                    raise _interrupted(stop, finished, total, folder) from None
                if fits is None:
                    at_once = max(1, len(group) // 2)
                    bar.say(f"memory ran out: continuing with {at_once} networks at once")
                    continue
                finished += len(group)
                del waiting[: len(group)]
                for job, fit in zip(group, fits, strict=True):
                    _keep(job.name, fit, outcome, folder)
                if folder is not None:
                    _write_index(folder, outcome, names, recipe, seed)
    outcome.fits = {name: outcome.fits[name] for name in names if name in outcome.fits}
    outcome.metrics = {name: outcome.metrics[name] for name in names if name in outcome.metrics}
    outcome.files = {name: outcome.files[name] for name in names if name in outcome.files}
    if folder is not None:
        _write_index(folder, outcome, names, recipe, seed)
    return outcome


def _jobs(sources: Iterable[Any], planner: Planner, outcome: ManyFits) -> list[Job]:
    """A job for each signal that can be read; the others are failures."""
    given = list(sources)
    raw = [
        Path(source).stem if isinstance(source, (str, os.PathLike)) else str(getattr(source, "name", "") or "")
        for source in given
    ]
    readable = []
    for name, source in zip(unique_names(raw), given, strict=True):
        try:
            signal = as_signal(source)
        except (ValueError, OSError, TypeError) as error:
            outcome.failures[name] = str(error)
            continue
        readable.append((name, signal))
    return planner.jobs(readable)


def _fit_group(
    group: Sequence[Job], seed: int, device: torch.device, callbacks: Sequence[Callback], share: _Share
) -> list[Fit] | None:
    """The fits of one group, or None if memory ran out and a smaller group should be tried."""
    plan, recipe = group[0].plan, group[0].recipe
    try:
        tasks = [task_for(job.signal, recipe.convention) for job in group]
        results = train(
            tasks,
            Copies(plan.field(seed), len(group)),
            recipe,
            seed=seed,
            execution=Execution(device=device),
            progress=share,
            callbacks=callbacks,
            names=[job.name for job in group],
        )
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error) or len(group) == 1:
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        return None
    return [
        Fit(result, task.to("cpu"), job.plan, str(device))
        for job, result, task in zip(group, results, tasks, strict=True)
    ]


class _Share:
    """The part of the progress that a group of networks makes."""

    def __init__(self, bar: Progress, finished: int, count: int, total: int, started: float) -> None:
        self.bar, self.finished, self.count, self.total, self.started = bar, finished, count, total, started

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def update(self, step: int, loss: float, psnr: float, elapsed: float, fraction: float) -> None:
        done = (self.finished + self.count * fraction) / self.total
        self.bar.update(self.finished, loss, psnr, time.monotonic() - self.started, done)

    def say(self, sentence: str) -> None:
        self.bar.say(sentence)


def _interrupted(stop: Interrupted, finished: int, total: int, folder: FieldFolder | None) -> Interrupted:
    """The same signal, with how many fits are done and how to continue."""
    name = "Ctrl-C" if stop.signal_number == signals.SIGINT else "SIGTERM"
    hint = (
        "give out=FOLDER to keep finished fits"
        if folder is None
        else f"they are in {folder.path}: rerun with resume=True to fit the rest"
    )
    return Interrupted(
        f"stopped by {name} with {finished} of {total} fits done; {hint}", None, stop.signal_number, stop.step
    )


def _together(jobs: Sequence[Job], most: int) -> list[Job]:
    """The next jobs that train together: one where the network must be alone, and one size for mini-batches."""
    if jobs[0].alone:
        return [jobs[0]]
    if jobs[0].recipe.batch is None:
        return list(jobs[:most])
    first = points_of(jobs[0].signal)
    return [job for job in jobs[:most] if points_of(job.signal) == first]


def _capacity(jobs: Sequence[Job], device: torch.device) -> int:
    """How many networks fit into two thirds of the free memory, judged by the largest signal."""
    free = torch.cuda.mem_get_info(device)[0] * 2 // 3 if device.type == "cuda" else 2 * 2**30
    largest = max(job.recipe.batch_size(points_of(job.signal)) for job in jobs)
    return int(max(1, min(256, free // (largest * BYTES_PER_POINT))))


def _is_done(job: Job, seed: int, folder: FieldFolder, outcome: ManyFits) -> bool:
    """Whether an earlier run has fitted this signal; refused if it did so with other settings."""
    saved = folder.finished(job.name)
    if saved is None:
        return False
    folder.check_resumed(job.name, seed=seed, recipe=job.recipe.to_plain(), architecture=job.architecture)
    if saved.get("fingerprint") != fingerprint(task_for(job.signal, job.recipe.convention)):
        return False
    outcome.files[job.name], outcome.metrics[job.name] = folder.file(job.name), saved["metrics"]
    folder.keep(job.name, saved)
    return True


def _keep(name: str, fit: Fit, outcome: ManyFits, folder: FieldFolder | None) -> None:
    outcome.metrics[name] = fit.metrics
    if fit.stopped.startswith("diverged"):
        outcome.failures[name] = fit.stopped
    if folder is None:
        outcome.fits[name] = fit
        return
    fit.field.metadata["fingerprint"] = fingerprint(fit.task)
    folder.add(name, fit.module, fit.field.metadata)
    outcome.files[name] = folder.file(name)


def _write_index(
    folder: FieldFolder, outcome: ManyFits, names: Sequence[str], recipe: Recipe | None, seed: int
) -> None:
    plain = None if recipe is None else recipe.to_plain()
    folder.write_index(seed=seed, recipe=plain, failures=outcome.failures, order=names)
