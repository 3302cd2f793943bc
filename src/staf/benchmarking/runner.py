"""The runner: gate, then every case in every version, twice; the outcome is one JSON-able document."""

from __future__ import annotations

import fnmatch
import os
import statistics
from collections.abc import Callable, Sequence

from staf._documents import Document, Entries
from staf._machine import provenance
from staf.benchmarking.cases import Case, Version
from staf.benchmarking.gate import check_cases
from staf.benchmarking.measurement import Builder, Measurement, clean, measure
from staf.benchmarking.timing import Effort
from staf.training.stepper import is_out_of_memory

ROUNDS = 2
FORMAT = 1


def run_cases(
    suite: str,
    cases: Sequence[Case],
    *,
    device: str,
    seed: int,
    effort: Effort | None = None,
    say: Callable[[str], None] = lambda line: None,
    keep: Callable[[Document], None] = lambda document: None,
    builder: Builder | None = None,
    after_gate: Callable[[], Entries] = dict,
    annotate: Callable[[Case, Document], None] = lambda case, record: None,
) -> Document:
    """Run the cases of a suite on a device.

    `seed` draws the gate's inputs. `say` gets a line per timing and `keep` the document after each case, so that an
    interrupted run leaves what it has done. Raises `GateError` before anything is timed if an operation is wrong.
    A suite with more to measure gives `builder` for its programs, `after_gate` for further entries of the document, and
    `annotate` for further entries of a record.
    """
    gate = check_cases(cases, device, seed)
    say(f"gate: {len(gate)} checks passed")
    entries = after_gate()
    clean(device)
    document: Document = {
        "format": FORMAT,
        "suite": suite,
        **provenance(device),
        # How many processes wanted a core as the run began: what else the machine was doing.
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "gate": {"seed": seed, "checks": gate},
        **entries,
        "rounds": ROUNDS,
        "complete": False,
        "records": [],
    }
    document["versions"]["triton"] = _triton_version()
    for case in cases:
        records = run_case(case, device, effort or Effort(), say, builder)
        for record in records:
            annotate(case, record)
        document["records"] += records
        keep(document)
    document["complete"] = True
    keep(document)
    return document


def matching(cases: Sequence[Case], pattern: str) -> list[Case]:
    """The cases whose label matches a shell pattern.

    >>> from staf.benchmarking.cases import short_cases
    >>> [case.label for case in matching(short_cases("cpu"), "latency*")]
    ['latency staf tau 5, 1 point']
    """
    return [case for case in cases if fnmatch.fnmatch(case.label, pattern)]


def run_case(
    case: Case, device: str, effort: Effort, say: Callable[[str], None], builder: Builder | None = None
) -> list[Document]:
    """One record per version. Versions take turns in each round, so that a drift of the machine affects all alike."""
    found: dict[str, list[Measurement]] = {version.name: [] for version in case.versions}
    failed: dict[str, str] = {}
    for turn in range(ROUNDS):
        for version in case.versions:
            if version.name in failed:
                continue
            try:
                measured = measure(case, version, device, effort, builder)
            except Exception as error:
                # A version that fails, as torch.compile may, costs its own row and no other.
                failed[version.name] = _failure(error)
                say(f"{case.label}: {version.name}: {failed[version.name]}")
                continue
            found[version.name].append(measured)
            say(f"{case.label}: {version.name}: {1e3 * measured.seconds:.4g} ms (round {turn + 1})")
    records = []
    for version in case.versions:
        record = _record(case, version, found[version.name], found[case.versions[0].name])
        record["notes"] += [failed[version.name]] if version.name in failed else []
        records.append(record)
    return records


def _failure(error: Exception) -> str:
    if is_out_of_memory(error):
        return "does not fit in memory"
    first = (str(error).strip().splitlines() or [""])[0]
    return f"failed: {type(error).__name__}: {first}"


def failures(document: Document) -> list[str]:
    """The versions of the library itself that failed, in words; the released form may not fit in memory."""
    return [
        f"{record['case']}: {record['version']}: {'; '.join(record['notes'])}"
        for record in document["records"]
        if record["ms"] is None and not record["version"].startswith("released")
    ]


def _record(case: Case, version: Version, rounds: list[Measurement], base: list[Measurement]) -> Document:
    seconds, base_seconds = _mean([one.seconds for one in rounds]), _mean([one.seconds for one in base])
    processor, base_processor = _mean([one.processor for one in rounds]), _mean([one.processor for one in base])
    return {
        "case": case.label,
        "kind": case.kind,
        "model": case.model,
        "terms": case.terms,
        "network": case.network,
        "points": case.points,
        "version": version.name,
        "precision": version.precision,
        "ms": None if seconds is None else 1e3 * seconds,
        "ms_rounds": [1e3 * one.seconds for one in rounds],
        "ratio": base_seconds / seconds if seconds and base_seconds else None,
        "processor_ms": None if processor is None else 1e3 * processor,
        "processor_ratio": base_processor / processor if processor and base_processor else None,
        "peak_gib": max((one.peak_gib for one in rounds if one.peak_gib is not None), default=None),
        "notes": list(rounds[-1].notes) if rounds else [],
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None


def _triton_version() -> str | None:
    try:
        import triton
    except ImportError:
        return None
    return str(triton.__version__)
