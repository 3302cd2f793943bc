"""A full suite: the short runner with the machine's rates, the floor of every case, and all programs."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.costs import cost
from benchmarks.programs import build
from benchmarks.rates import Rates, measure_rates
from benchmarks.suites import SUITES, ManyCase
from staf._documents import Document
from staf.benchmarking.cases import Case
from staf.benchmarking.runner import run_cases
from staf.benchmarking.timing import Effort


def run_suite(
    suite: str,
    *,
    device: str,
    seed: int,
    only: Sequence[str] = ("*",),
    effort: Effort | None = None,
    say: Callable[[str], None] = lambda line: None,
    keep: Callable[[Document], None] = lambda document: None,
    cases: Sequence[Case] | None = None,
    compiled: bool = True,
    versions: Sequence[str] = ("*",),
) -> Document:
    """Run a suite on a device.

    `only` are patterns of case labels and `versions` of versions' names; `compiled=False` leaves torch.compile out.
    The rest is as in `staf.benchmarking.run_cases`.
    """
    known = list(cases) if cases is not None else SUITES[suite](device)
    chosen = [case for case in known if any(fnmatch.fnmatch(case.label, pattern) for pattern in only)]
    if not chosen:
        raise ValueError(f"only must match a case of the suite {suite!r}, got {', '.join(only)}")
    chosen = [_with_versions(case, compiled, versions) for case in chosen]
    measured: list[Rates] = []

    def after_gate() -> dict[str, Any]:
        rates = measure_rates(device)
        measured.append(rates)
        say("rates: " + _rates_text(rates))
        return {"rates": {"matmul_flops": rates.matmul, "copy_bytes": rates.copy, "sines": rates.sines}}

    return run_cases(
        suite,
        chosen,
        device=device,
        seed=seed,
        effort=effort,
        say=say,
        keep=keep,
        builder=build,
        after_gate=after_gate,
        annotate=lambda case, record: add_rates(case, record, measured[0]),
    )


def add_rates(case: Case, record: dict[str, Any], rates: Rates) -> None:
    """Add to a record that has a time: FLOP/s, bytes/s, and the least time at the machine's rates."""
    if record["ms"] is None:
        return
    seconds = record["ms"] / 1e3
    work = cost(case.field("cpu"), case.points, train=case.trains, terms=case.terms)
    # An image of `many` is `steps` steps.
    steps = case.steps if isinstance(case, ManyCase) else 1
    floor = steps * work.floor_seconds(rates, record["precision"])
    record["tflop_s"] = steps * work.flops / seconds / 1e12
    record["gb_s"] = steps * work.bytes / seconds / 1e9
    record["floor_ms"] = 1e3 * floor
    record["floor_fraction"] = floor / seconds
    if isinstance(case, ManyCase):
        record["images_per_s"] = 1 / seconds


def _with_versions(case: Case, compiled: bool, patterns: Sequence[str]) -> Case:
    wanted = [
        version
        for version in case.versions
        if (compiled or not version.compiled) and any(fnmatch.fnmatch(version.name, one) for one in patterns)
    ]
    return replace(case, versions=tuple(wanted))


def _rates_text(rates: Rates) -> str:
    parts = [f"{name} {flops / 1e12:.3g} TFLOP/s" for name, flops in rates.matmul.items()]
    parts.append(f"copy {rates.copy / 1e9:.4g} GB/s")
    if rates.sines:
        parts.append(f"{rates.sines / 1e9:.4g} G sines/s")
    return ", ".join(parts)
