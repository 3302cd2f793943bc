"""Units of `fit_many` on the workers of a Ray cluster: any of them may die, and so may this process."""

from __future__ import annotations

import contextlib
import math
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from staf._extras import need
from staf._files import WriteError
from staf.many.units import Source, Tally, UnitFitter, Work, in_units, unit_size, with_hint
from staf.many.writing import ShardWriter
from staf.storage.sets import Entry, SetFolder
from staf.training.progress import Progress

# A unit that a worker died of is tried again, from the second time in halves; a signal alone is given up after so many.
ATTEMPTS = 5
# Only entries of the index travel: Ray's own default is a third of the memory.
OBJECT_STORE_BYTES = 2**27
# Ray's workers would give way to every other program of the machine (15), which one process does not.
SYSTEM = {"worker_niceness": 0}
# Ray itself tries an address without an answer for minutes.
ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class _Unit:
    sources: list[Source]
    attempts: int = 0


def fit_unit(unit: list[Source], work: Work) -> tuple[list[Entry], dict[str, str]]:
    """What a worker does: fit and write a unit; the entries and failures go to the one process that owns the index."""
    entries: list[Entry] = []
    failures: dict[str, str] = {}

    def collect(some: Sequence[Entry], failed: dict[str, str]) -> None:
        entries.extend(some)
        failures.update(failed)

    fitter = UnitFitter(work)
    with ShardWriter(fitter.place, collect) as writer:
        fitter.fit(fitter.prepare(unit), writer, Tally(Progress(None, None, "none"), len(unit)))
    return entries, failures


def run_on_cluster(sources: Sequence[Source], work: Work, ray: Any, folder: SetFolder, tally: Tally) -> None:
    """Hand out units to the cluster's workers until all are done; the index is written here alone."""
    on_gpu = work.device != "cpu" and ray.cluster_resources().get("GPU", 0) >= 1
    # Only a worker knows its GPU's number, which Ray makes the first.
    work = replace(work, url=folder.place.absolute(), device="cuda" if on_gpu else "cpu")
    waiting = [_Unit(unit) for unit in in_units(sources, unit_size(work, work.device or "cpu"))][::-1]
    task = ray.remote(num_cpus=1, num_gpus=1 if on_gpu else 0, max_retries=0)(fit_unit)
    shared = ray.put(work)
    running: dict[Any, _Unit] = {}
    while waiting or running:
        # Nodes may join and leave; one unit more than is running keeps each worker busy.
        slots = max(1, int(ray.cluster_resources().get("GPU" if on_gpu else "CPU", 1)))
        while waiting and len(running) < 2 * slots:
            unit = waiting.pop()
            running[task.remote(unit.sources, shared)] = unit
        done, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
        for reference in done:
            unit = running.pop(reference)
            try:
                entries, failures = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                cause = error.cause
                if isinstance(cause, WriteError):
                    raise with_hint(cause, folder) from None
                if isinstance(cause, (ValueError, ImportError)):
                    raise cause from None
                waiting.extend(_again(unit, folder, f"the worker failed: {cause}"))
            except ray.exceptions.RayError as error:
                waiting.extend(_again(unit, folder, f"the worker died: {str(error).splitlines()[0]}"))
            else:
                folder.commit(entries, failures)
                _show(tally, entries)


def _again(unit: _Unit, folder: SetFolder, reason: str) -> list[_Unit]:
    """What is tried again after a worker was lost: all that it has not written, in halves from the second time on."""
    folder.adopt()
    listed = folder.index.entries
    sources = [
        replace(source, known=listed[source.name].key if source.name in listed else None) for source in unit.sources
    ]
    if len(sources) == 1 and unit.attempts + 1 >= ATTEMPTS:
        folder.commit([], {sources[0].name: reason})
        return []
    if len(sources) == 1 or unit.attempts == 0:
        return [_Unit(sources, unit.attempts + 1)]
    half = len(sources) // 2
    return [_Unit(sources[:half], unit.attempts), _Unit(sources[half:], unit.attempts)]


def _show(tally: Tally, entries: Sequence[Entry]) -> None:
    tally.finished += len(entries)
    values = [entry.metrics["psnr"] for entry in entries if "psnr" in entry.metrics]
    psnr = sum(values) / len(values) if values else math.nan
    tally.share(0).update(0, 10 ** (-psnr / 10), psnr, 0.0, 0.0)


@contextlib.contextmanager
def connected(address: str, places: Sequence[str]) -> Iterator[Any]:
    """Ray, connected to the cluster at an address; "auto" is one that runs, "local" one started for this call.

    `places` are read or written by the workers.
    """
    for place in places:
        if place.startswith("memory://"):
            raise ValueError(f"a cluster needs places that all its processes reach, got {place}, of this process alone")
    ray = need("cluster", "ray")
    if ray.is_initialized():
        yield ray
        return
    options = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        try:
            limits = {"object_store_memory": OBJECT_STORE_BYTES, "_system_config": SYSTEM}
            ray.init("local", include_dashboard=False, **limits, **options)
        except Exception as error:
            # Ray gives itself 30 s, which a busy machine may exceed, and raises a bare Exception.
            said = " ".join(str(error).split())
            raise ConnectionError(
                f"Ray did not start on this machine: {said} Rerun it, or leave out cluster"
            ) from error
    else:
        try:
            _call(address)
            ray.init(address, **options)
        except (ConnectionError, TimeoutError, socket.gaierror):
            raise ConnectionError(
                f"cluster {address!r} does not answer: start one with `ray start --head`, set RAY_AUTH_TOKEN if it has "
                "a token, or use cluster='local'"
            ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _call(address: str) -> None:
    """Open the port that an address names, if it names one; without an answer a ConnectionError or a TimeoutError."""
    host, mark, port = address.rpartition("://")[2].rpartition(":")
    if mark and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
