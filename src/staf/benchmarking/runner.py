"""The one runner: gate, rates, then every case in every version, twice; the outcome is one JSON-able document."""

from __future__ import annotations

import fnmatch
import gc
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..experiments.machine import provenance
from ..fitting.stepper import is_out_of_memory
from .cases import SUITES, Case, Version
from .costs import Cost, cost
from .gate import check_cases
from .programs import Program, build
from .rates import Rates, measure_rates
from .timing import Effort, median_seconds, once

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
) -> Document:
    """Run a suite on a device.

    `seed` draws the gate's inputs. `only` is a pattern of case labels; `compiled=False` leaves torch.compile out.
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
    _clean(device)
    document: Document = {
        "format": FORMAT,
        "suite": suite,
        **provenance(device),
        "gate": {"seed": seed, "checks": gate},
        "rates": {"matmul_flops": rates.matmul, "copy_bytes": rates.copy, "sines": rates.sines},
        "rounds": ROUNDS,
        "complete": False,
        "records": [],
    }
    document["versions"]["triton"] = _triton_version()
    for case in chosen:
        versions = [version for version in case.versions if compiled or not version.compiled]
        document["records"] += run_case(case, versions, device, rates, effort, say)
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
    seconds: dict[str, list[float]] = {version.name: [] for version in versions}
    notes: dict[str, list[str]] = {version.name: [] for version in versions}
    peaks: dict[str, float | None] = {version.name: None for version in versions}
    for turn in range(ROUNDS):
        for version in versions:
            if notes[version.name] and not seconds[version.name]:
                continue
            try:
                found, peak, remarks = _time_in_memory(case, version, device, effort)
            except Exception as error:
                # One version that fails, as torch.compile may, costs its own row and no other.
                notes[version.name] = [_failure(error)]
                say(f"{case.label}: {version.name}: {notes[version.name][0]}")
                continue
            finally:
                _clean(device)
            seconds[version.name].append(found)
            peaks[version.name], notes[version.name] = peak, remarks
            say(f"{case.label}: {version.name}: {1e3 * found:.4g} ms (round {turn + 1})")
    network = case.field("cpu")
    work = cost(network, case.points, train=case.kind in ("train", "minibatch", "many"), terms=case.terms)
    base = _middle(seconds[versions[0].name])
    return [
        _record(case, version, seconds[version.name], base, peaks[version.name], notes[version.name], work, rates)
        for version in versions
    ]


def _time_in_memory(case: Case, version: Version, device: str, effort: Effort) -> tuple[float, float | None, list[str]]:
    """`_time`, giving the released form fewer points at a time where memory runs out; the library does so by itself."""
    while True:
        try:
            return _time(case, version, device, effort)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            chunk = (case.chunk or case.points) // 2
            if version.ours or not is_out_of_memory(error) or chunk < case.points // 64:
                raise
            case = replace(case, chunk=chunk)
        _clean(device)


def _time(case: Case, version: Version, device: str, effort: Effort) -> tuple[float, float | None, list[str]]:
    """Seconds per unit, peak GiB on a GPU, and remarks."""
    on_gpu = device.startswith("cuda")
    before = 0
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
    program: Program = build(case, version, device)
    one = once(program.run, device)
    repeats = effort.repeats(one)
    found = one if repeats == 1 else median_seconds(program.run, device, repeats, wall=program.wall)
    peak = (torch.cuda.max_memory_allocated(device) - before) / 2**30 if on_gpu else None
    return found / program.units, peak, list(program.notes)


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


def _clean(device: str) -> None:
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    if device.startswith("cuda"):
        gc.collect()
        torch.cuda.empty_cache()


def _record(
    case: Case,
    version: Version,
    seconds: list[float],
    base: float | None,
    peak: float | None,
    notes: list[str],
    work: Cost,
    rates: Rates,
) -> dict[str, Any]:
    middle = _middle(seconds)
    record: dict[str, Any] = {
        "case": case.label,
        "kind": case.kind,
        "model": case.model,
        "terms": case.terms,
        "network": case.network,
        "points": case.points,
        "version": version.name,
        "precision": version.precision,
        "ms": None if middle is None else 1e3 * middle,
        "ms_rounds": [1e3 * value for value in seconds],
        "ratio": None if middle is None or base is None else base / middle,
        "peak_gib": peak,
        "notes": notes,
    }
    # An image of `many` is `steps` steps.
    steps = case.steps if case.kind == "many" else 1
    floor = steps * work.floor_seconds(rates, version.precision)
    if middle is not None:
        record["tflop_s"] = steps * work.flops / middle / 1e12
        record["gb_s"] = steps * work.bytes / middle / 1e9
        record["floor_ms"] = 1e3 * floor
        record["floor_fraction"] = floor / middle
    if case.kind == "many" and middle is not None:
        record["images_per_s"] = 1 / middle
    return record


def _middle(seconds: list[float]) -> float | None:
    return statistics.mean(seconds) if seconds else None


def _rates_text(rates: Rates) -> str:
    parts = [f"{name} {flops / 1e12:.3g} TFLOP/s" for name, flops in rates.matmul.items()]
    parts.append(f"copy {rates.copy / 1e9:.4g} GB/s")
    if rates.sines:
        parts.append(f"{rates.sines / 1e12:.3g} T sines/s")
    return ", ".join(parts)


def _triton_version() -> str | None:
    try:
        import triton
    except ImportError:
        return None
    return str(triton.__version__)
