"""Units of work of `fit_many` into a set: some signals, fitted and written as shards by any process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from staf._documents import Document
from staf._files import WriteError
from staf._jsonable import digest
from staf.api import Fit, as_signal, choose_device
from staf.many.groups import Share, capacity, fit_group, together
from staf.many.plans import Job, PlanBy, Planner
from staf.many.writing import ShardWriter
from staf.planning.plans import Budget, Plan, points_of
from staf.signals.base import Signal
from staf.storage.sets import Finished, Place, SetFolder
from staf.tasks import task_for
from staf.training import Callback, Recipe
from staf.training.checkpoint import fingerprint
from staf.training.progress import Progress

# Signals of a unit: enough for one group on a GPU; on a CPU few enough to spread over the workers.
UNIT_ON_GPU, UNIT_ON_CPU = 256, 16
# Units of signals with a field that are read while one trains: 250 steps on a GPU take 15 times as long as reading one.
READ_WITH = 4


@dataclass(frozen=True)
class Source:
    """A signal to fit: its name, what `signal_of` takes, its tags, and the key of the field that the set has of it."""

    name: str
    given: Any
    tags: Document
    known: str | None = None


@dataclass(frozen=True)
class Work:
    """How every unit of a run is fitted, and where it is written."""

    url: str
    recipe: Recipe | None
    plan: Plan | None
    model: str | None
    plan_by: PlanBy
    budget: Budget
    seed: int
    device: str | None
    at_once: int | None


@dataclass
class Tally:
    """The progress of a run: how many fits are finished of how many, since when, and where it is shown."""

    bar: Progress
    total: int
    finished: int = 0
    started: float = field(default_factory=time.monotonic)

    def share(self, count: int) -> Share:
        """The part of the progress that a group of so many networks makes."""
        self.total = max(self.total, self.finished + count)
        return Share(self.bar, self.finished, count, self.total, self.started)


@dataclass
class Prepared:
    """A unit whose signals are read: what is left to fit, the key and tags of each, and what could not be read."""

    jobs: list[Job] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    tags: dict[str, Document] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


class UnitFitter:
    """Fits units one after another, in this process.

    A field depends on its own signal, the recipe, the network and the seed, and on no other signal. On a CPU networks
    train one by one, each with one thread, unless `at_once` says otherwise: then not a bit depends on the unit that a
    signal came in. On a GPU, and with `at_once`, groups of another size change the rounding.
    """

    def __init__(self, work: Work, callbacks: Sequence[Callback] = ()) -> None:
        self.work, self.callbacks = work, callbacks
        self.place, self.device = Place(work.url), choose_device(work.device)
        self.planner = Planner(work.recipe, work.plan, work.model, work.plan_by, work.budget, work.seed)
        self._limit = work.at_once
        self._exact = self.device.type == "cpu" and work.at_once is None

    def prepare(self, unit: Sequence[Source]) -> Prepared:
        """Read the signals of a unit, and leave out those whose field the set already has."""
        out = Prepared()
        for source in unit:
            try:
                signal = signal_of(source.given)
            except (ValueError, OSError, TypeError) as error:
                out.failures[source.name] = str(error)
                continue
            job = self.planner.job(source.name, signal)
            _refuse_clock(job.recipe)
            key = key_of(job, self.work.seed)
            if key != source.known:
                out.jobs.append(job)
                out.keys[source.name], out.tags[source.name] = key, source.tags
        return out

    def fit(self, prepared: Prepared, writer: ShardWriter, tally: Tally) -> None:
        """Fit what is prepared and hand it to the writer, whose block waits until all is written."""
        writer.fail(prepared.failures)
        groups: dict[Hashable, list[Job]] = {}
        for job in prepared.jobs:
            groups.setdefault((job.key, points_of(job.signal)), []).append(job)
        with _one_thread() if self._exact else contextlib.nullcontext():
            for waiting in groups.values():
                for job, fit in self._fits(waiting, tally):
                    failure = fit.stopped if fit.stopped.startswith("diverged") else None
                    writer.add(_finished(job, fit, prepared), failure)
        writer.write()

    def _fits(self, waiting: list[Job], tally: Tally) -> Iterator[tuple[Job, Fit]]:
        while waiting:
            most = 1 if self._exact else self._limit or capacity(waiting, self.device)
            group = together(waiting, most)
            fits = fit_group(group, self.work.seed, self.device, self.callbacks, tally.share(len(group)))
            if fits is None:
                self._limit = max(1, len(group) // 2)
                tally.bar.say(f"memory ran out: continuing with {self._limit} networks at once")
                continue
            del waiting[: len(group)]
            tally.finished += len(group)
            yield from zip(group, fits, strict=True)


def _finished(job: Job, fit: Fit, prepared: Prepared) -> Finished:
    metadata = {**fit.field.metadata, "tags": prepared.tags[job.name]}
    return Finished.of(job.name, prepared.keys[job.name], fit.module, metadata)


def signal_of(source: Any) -> Signal:
    """The signal of a source; a function is called first, so that what it opens is read when its turn comes.

    >>> import numpy as np
    >>> signal_of(lambda: np.zeros((2, 3), np.uint8))
    Image('image', 3x2 grey, uint8)
    """
    return as_signal(source() if callable(source) else source)


def key_of(job: Job, seed: int) -> str:
    """A hash of all that decides a field: the data, the recipe, the network with its start, and the seed."""
    content = fingerprint(task_for(job.signal, job.recipe.convention))
    return digest([content, job.recipe.to_plain(), job.architecture, job.start, seed])


def _refuse_clock(recipe: Recipe) -> None:
    for name in ("seconds", "target_db"):
        if getattr(recipe, name) is not None:
            raise ValueError(
                f"a set needs the same steps for every field: give steps and not {name}, got "
                f"{name}={getattr(recipe, name)}, which depends on the clock"
            )


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """One thread for each operation: with more, the rounding depends on how many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def unit_size(work: Work, device: str) -> int:
    """How many signals a unit has on a type of device."""
    return work.at_once or (UNIT_ON_GPU if device == "cuda" else UNIT_ON_CPU)


def in_units(sources: Sequence[Source], size: int) -> list[list[Source]]:
    """Units of `size` signals without a field; then those that have one, which are read to see that they are the same.

    Units after the first take up to `READ_WITH` times as many of these along, to be read while others train.

    >>> some = [Source(name, None, {}, None if name in "abcde" else "key") for name in "vawbxcydze"]
    >>> ["".join(source.name for source in unit) for unit in in_units(some, 2)]
    ['ab', 'cdvwz', 'exy']
    """

    def parted(some: list[Source]) -> list[list[Source]]:
        return [some[start : start + size] for start in range(0, len(some), size)]

    missing = parted([source for source in sources if source.known is None])
    listed = parted([source for source in sources if source.known is not None])
    later = missing[1:]
    along = READ_WITH * len(later)
    for number, some in enumerate(listed[:along]):
        later[number % len(later)].extend(some)
    return missing + listed[along:]


def with_hint(error: WriteError, folder: SetFolder) -> WriteError:
    """What could not be written, what is kept, and how to continue."""
    kept = f"{len(folder.index.entries)} fields are in {folder.place}: rerun with resume=True to fit the rest"
    return WriteError(error.errno, f"{error.strerror}; {kept}")
