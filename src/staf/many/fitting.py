"""`fit_many`: hundreds of small networks trained together, streamed to a folder as they finish."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from staf._documents import Entries
from staf.api import Fit, as_callbacks, choose_device
from staf.many.groups import Share, capacity, fit_group, together
from staf.many.plans import Job, PlanBy, Planner
from staf.many.sets import fit_set, names_of
from staf.many.units import Work, signal_of
from staf.planning.plans import Budget, Plan, points_of
from staf.storage.folder import FieldFolder
from staf.storage.sets import SetFolder
from staf.tasks import task_for
from staf.training import Callback, Interrupted, Recipe
from staf.training.checkpoint import fingerprint
from staf.training.checks import check_seed
from staf.training.interrupt import name_of
from staf.training.progress import Progress, choose_mode


@dataclass
class ManyFits:
    """The result of `fit_many`: fits by name, in the given order, and a sentence for each signal that failed.

    With an output folder, the fits are on disk: `files` has their paths, and `fits` is empty. Fields in shards have no
    files of their own; `staf.FieldSet(place)` reads them.
    """

    fits: dict[str, Fit] = field(default_factory=dict)
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    place: str | None = None

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        place = f", in {self.place!r}" if self.place is not None else ""
        return f"ManyFits({len(self)} fits, mean psnr {self.mean_psnr:.2f}{failed}{place})"

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
    shards: bool = False,
    cluster: str | None = None,
    tags: Sequence[Entries] | None = None,
    progress: bool | None = None,
) -> ManyFits:
    """Fit one network to each signal, many at once; each result equals that of `staf.fit` with the same plan.

    Signals with equal networks and recipes train together. Every network starts from `seed`. Batches are full by
    default. A signal that cannot be read is reported in `failures`, and the others are fitted.

    Args:
        sources: what `staf.open` takes, or functions without arguments that return it when it is needed.
        recipe: how to train; by default the plan chooses.
        plan: network and recipe for all signals.
        model: the name of the network, by default "staf".
        plan_by: "size" plans by the size of signals only, and signals whose sizes differ by less than a factor of two
            share the plan of the smallest, so that weights can be compared; "spectrum" plans each signal as `staf.fit`.
        steps: steps of each network.
        seconds: training time of each group of networks that train together.
        target_db: a network that reaches this PSNR keeps these weights, and the others of its group continue.
        callbacks: called with a `State` for each network after each group of steps; `State.name` is its name.
        on_plan: `on_plan(plan, names)` is called before the training, once for the signals that share a plan.
        out: a folder for `fields/NAME.safetensors` and `index.json`, or a URL. Without it, fits stay in memory.
        resume: skip signals that are finished in `out`; seed, recipe and network must be the same.
        overwrite: fit all signals again.
        at_once: how many networks train together; by default as many as fit in memory. Networks that read their signal
            (INCODE) always train one after another.
        shards: write many fields in each file, with one index, for sets of thousands (`staf.FieldSet`); also used if
            `out` is a URL. A field then depends on its own signal only: the budget must be `steps`, and on a CPU
            networks train one by one unless `at_once` is given.
        cluster: train on the workers of a Ray cluster: "local" starts one on this machine, "auto" uses a running one,
            or its address.
        tags: data for each signal by name, such as its label.

    >>> import numpy as np, staf
    >>> pictures = [np.full((4, 4, 3), value, dtype=np.uint8) for value in (10, 200)]
    >>> fits = staf.fit_many(pictures, steps=2, progress=False)
    >>> len(fits), fits[0].result.steps
    (2, 2)
    """
    if isinstance(sources, str | os.PathLike):
        raise TypeError(
            f"sources must be a list of files or signals, got {os.fspath(sources)!r}: for the files of a folder pass "
            "sorted(Path(folder).iterdir())"
        )
    if out is None and resume:
        raise ValueError("resume needs out=FOLDER, where the earlier fits are")
    watchers = as_callbacks(callbacks)
    if shards or cluster is not None or "://" in str(out):
        if out is None:
            raise ValueError("shards and cluster need out=FOLDER or a URL, where the fits go")
        if cluster is not None and (watchers or on_plan is not None):
            raise ValueError("callbacks and on_plan are called in this process, so that they cannot go with a cluster")
        budget = Budget(steps, seconds, target_db)
        name = None if device is None else str(choose_device(device))
        work = Work(os.fspath(out), recipe, plan, model, plan_by, budget, seed, name, at_once)
        given = list(sources)
        begin = partial(fit_set, given, work, tags=tags, resume=resume, overwrite=overwrite, cluster=cluster)
        return _of_set(
            partial(begin, callbacks=watchers, on_plan=on_plan, progress=progress), names_of(given), work.url
        )
    if tags is not None:
        raise ValueError("tags are kept in shards: give shards=True, or leave them out")
    chosen = choose_device(device)
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
                group = together(waiting, at_once or capacity(waiting, chosen))
                share = Share(bar, finished, len(group), total, started)
                try:
                    fits = fit_group(group, seed, chosen, watchers, share)
                except Interrupted as stop:
                    kept = "give out=FOLDER to keep finished fits"
                    if folder is not None:
                        kept = f"they are in {folder.path}: rerun with resume=True to fit the rest"
                    raise _interrupted(stop, f" with {finished} of {total} fits done; {kept}") from None
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


def _of_set(fitted: Callable[[], SetFolder], names: Sequence[str], url: str) -> ManyFits:
    """What `fit_many` returns of a set: its files stay where they are."""
    try:
        folder = fitted()
    except Interrupted as stop:
        raise _interrupted(stop, f"; finished fits are in {url}: rerun with resume=True to fit the rest") from None
    index, outcome = folder.index, ManyFits(place=url)
    for name in names:
        if name in index.entries:
            outcome.metrics[name] = index.entries[name].metrics
        if name in index.failures:
            outcome.failures[name] = index.failures[name]
    return outcome


def _jobs(sources: Iterable[Any], planner: Planner, outcome: ManyFits) -> list[Job]:
    """A job for each signal that can be read; the others are failures."""
    given = list(sources)
    readable = []
    for name, source in zip(names_of(given), given, strict=True):
        try:
            signal = signal_of(source)
        except (ValueError, OSError, TypeError) as error:
            outcome.failures[name] = str(error)
            continue
        readable.append((name, signal))
    return planner.jobs(readable)


def _interrupted(stop: Interrupted, what_is_kept: str) -> Interrupted:
    """The same signal, with how many fits are done and how to continue."""
    message = f"stopped by {name_of(stop.signal_number)}{what_is_kept}"
    return Interrupted(message, None, stop.signal_number, stop.step)


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
