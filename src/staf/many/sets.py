"""`fit_many` into a set of shards, by this process or by the workers of a cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from staf._documents import Document, Entries
from staf._files import WriteError
from staf.many.cluster import connected, run_on_cluster
from staf.many.units import Prepared, Source, Tally, UnitFitter, Work, in_units, unit_size, with_hint
from staf.many.writing import ShardWriter
from staf.planning.plans import Plan
from staf.storage.folder import unique_names
from staf.storage.sets import SetFolder
from staf.training import Callback
from staf.training.progress import Progress, choose_mode
from staf.training.worker import Worker


def fit_set(
    sources: Sequence[Any],
    work: Work,
    *,
    tags: Sequence[Entries] | None,
    resume: bool,
    overwrite: bool,
    callbacks: Sequence[Callback],
    on_plan: Callable[[Plan, list[str]], None] | None,
    progress: bool | None,
    cluster: str | None,
) -> SetFolder:
    """Fit each source that the set does not have yet; returns the set with its index up to date."""
    if tags is not None and len(tags) != len(sources):
        raise ValueError(f"tags must be as many as the signals, got {len(tags)} and {len(sources)}")
    names, given = names_of(sources), [_absolute(source) for source in sources]
    # Before anything is written: a cluster that does not answer leaves no set behind.
    urls = [work.url, *(one for one in given if isinstance(one, str))]
    with contextlib.nullcontext() if cluster is None else connected(cluster, urls) as ray:
        folder = SetFolder.begin(work.url, _settings(work), resume=resume, overwrite=overwrite)
        index = folder.index
        listed = [index.entries.get(name) for name in names]
        units = [
            Source(name, one, dict(tags[number]) if tags is not None else {}, None if entry is None else entry.key)
            for number, (name, one, entry) in enumerate(zip(names, given, listed, strict=True))
        ]
        total = sum(entry is None for entry in listed)
        with Progress(total, None, choose_mode(progress), title="networks", counted="finished", rate=True) as bar:
            tally = Tally(bar, max(total, 1))
            if ray is None:
                _run_here(units, UnitFitter(work, callbacks), folder, tally, on_plan)
            else:
                run_on_cluster(units, work, ray, folder, tally)
        index.merge()
    return folder


def names_of(sources: Sequence[Any]) -> list[str]:
    """A name for each source: the stem of its file, or the signal's own, each once and safe as a file name."""
    return unique_names(
        Path(source).stem if isinstance(source, (str, os.PathLike)) else str(getattr(source, "name", "") or "")
        for source in sources
    )


def _settings(work: Work) -> Document:
    """What must be the same when a run is resumed."""
    return {
        "seed": work.seed,
        "steps": work.budget.steps,
        "model": work.model or "staf",
        "plan_by": work.plan_by,
        "recipe": None if work.recipe is None else work.recipe.to_plain(),
    }


def _absolute(source: Any) -> Any:
    """A path as another process finds it; a URL as it is."""
    if not isinstance(source, (str, os.PathLike)) or "://" in str(source):
        return source
    return os.path.abspath(source)


def _run_here(
    sources: Sequence[Source],
    fitter: UnitFitter,
    folder: SetFolder,
    tally: Tally,
    on_plan: Callable[[Plan, list[str]], None] | None,
) -> None:
    """Units one after another; while one trains, the next is read and the last is written."""
    units = in_units(sources, unit_size(fitter.work, fitter.device.type))
    told: set[object] = set()
    with Worker() as reader, _hinted(folder), ShardWriter(fitter.place, folder.commit) as writer:
        coming = reader.submit(fitter.prepare, units[0]) if units else None
        for number in range(len(units)):
            assert coming is not None
            prepared: Prepared = coming.result()
            if number + 1 < len(units):
                coming = reader.submit(fitter.prepare, units[number + 1])
            if on_plan is not None:
                for key in {job.key: None for job in prepared.jobs if job.key not in told}:
                    alike = [job for job in prepared.jobs if job.key == key]
                    on_plan(alike[0].plan, [job.name for job in alike])
                    told.add(key)
            fitter.fit(prepared, writer, tally)


@contextlib.contextmanager
def _hinted(folder: SetFolder) -> Iterator[None]:
    try:
        yield
    except WriteError as error:
        raise with_hint(error, folder) from error
