"""The one runner: gate, rates, then every case in every version, twice; the outcome is one JSON-able document."""

from __future__ import annotations

import fnmatch
import os
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from staf._machine import provenance
from staf.benchmarking.cases import SUITES, Case, Version
from staf.benchmarking.costs import Cost, cost
from staf.benchmarking.gate import check_cases
from staf.benchmarking.measurement import Measurement, clean, measure
from staf.benchmarking.rates import Rates, measure_rates
from staf.benchmarking.timing import Effort
from staf.training.stepper import is_out_of_memory

ROUNDS = 2
FORMAT = 1
Document = dict[str, Any]


def run_suite(
    suite: str,
    *,
    device: str,
    seed: int,
    only: str = "*",
    effort: Effort | None = None,
    say: Callable[[str], None] = lambda line: None,
    keep: Callable[[Document], None] = lambda document: None,
    cases: Sequence[Case] | None = None,
    compiled: bool = True,
    versions: Sequence[str] = ("*",),
) -> Document:
    """Run a suite on a device.

    `seed` draws the gate's inputs. `only` is a pattern of case labels and `versions` are patterns of versions' names;
    `compiled=False` leaves torch.compile out.
    `say` gets a line per timing and `keep` the document after each case, so that an interrupted run leaves what it has
    done. Raises `GateError` before anything is timed if an operation is wrong.
    """
    chosen = matching(list(cases) if cases is not None else SUITES[suite](device), only)
    if not chosen:
        raise ValueError(f"only must match a case of the suite {suite!r}, got {only!r}")
    effort = effort or Effort()
    gate = check_cases(chosen, device, seed)
    say(f"gate: {len(gate)} checks passed")
    rates = measure_rates(device)
    say("rates: " + _rates_text(rates))
    clean(device)
    document: Document = {
        "format": FORMAT,
        "suite": suite,
        **provenance(device),
        # How many processes wanted a core as the run began: what else the machine was doing.
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "gate": {"seed": seed, "checks": gate},
        "rates": {"matmul_flops": rates.matmul, "copy_bytes": rates.copy, "sines": rates.sines},
        "rounds": ROUNDS,
        "complete": False,
        "records": [],
    }
    document["versions"]["triton"] = _triton_version()
    for case in chosen:
        wanted = [
            version
            for version in case.versions
            if (compiled or not version.compiled) and any(fnmatch.fnmatch(version.name, one) for one in versions)
        ]
        document["records"] += run_case(case, wanted, device, rates, effort, say)
        keep(document)
    document["complete"] = True
    keep(document)
    return document


def matching(cases: Sequence[Case], pattern: str) -> list[Case]:
    """The cases whose label matches a shell pattern.

    >>> [case.label for case in matching(SUITES["short"]("cpu"), "latency*")]
    ['latency staf tau 5, 1 point']
    """
    return [case for case in cases if fnmatch.fnmatch(case.label, pattern)]


def run_case(
    case: Case, versions: Sequence[Version], device: str, rates: Rates, effort: Effort, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """One record per version. Versions take turns in each round, so that a drift of the machine hits all alike."""
    found: dict[str, list[Measurement]] = {version.name: [] for version in versions}
    failed: dict[str, str] = {}
    for turn in range(ROUNDS):
        for version in versions:
            if version.name in failed:
                continue
            try:
                measured = measure(case, version, device, effort)
            except Exception as error:
                # One version that fails, as torch.compile may, costs its own row and no other.
                failed[version.name] = _failure(error)
                say(f"{case.label}: {version.name}: {failed[version.name]}")
                continue
            found[version.name].append(measured)
            say(f"{case.label}: {version.name}: {1e3 * measured.seconds:.4g} ms (round {turn + 1})")
    work = cost(case.field("cpu"), case.points, train=case.kind in ("train", "minibatch", "many"), terms=case.terms)
    records = []
    for version in versions:
        record = _record(case, version, found[version.name], found[versions[0].name], work, rates)
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


def _record(
    case: Case,
    version: Version,
    rounds: list[Measurement],
    base: list[Measurement],
    work: Cost,
    rates: Rates,
) -> dict[str, Any]:
    seconds, base_seconds = _mean([one.seconds for one in rounds]), _mean([one.seconds for one in base])
    processor, base_processor = _mean([one.processor for one in rounds]), _mean([one.processor for one in base])
    record: dict[str, Any] = {
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
    if seconds is not None:
        # An image of `many` is `steps` steps.
        steps = case.steps if case.kind == "many" else 1
        floor = steps * work.floor_seconds(rates, version.precision)
        record["tflop_s"] = steps * work.flops / seconds / 1e12
        record["gb_s"] = steps * work.bytes / seconds / 1e9
        record["floor_ms"] = 1e3 * floor
        record["floor_fraction"] = floor / seconds
        if case.kind == "many":
            record["images_per_s"] = 1 / seconds
    return record


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None


def _rates_text(rates: Rates) -> str:
    parts = [f"{name} {flops / 1e12:.3g} TFLOP/s" for name, flops in rates.matmul.items()]
    parts.append(f"copy {rates.copy / 1e9:.4g} GB/s")
    if rates.sines:
        parts.append(f"{rates.sines / 1e9:.4g} G sines/s")
    return ", ".join(parts)


def _triton_version() -> str | None:
    try:
        import triton
    except ImportError:
        return None
    return str(triton.__version__)
