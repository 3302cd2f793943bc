"""The marks to reach, stated before the work, and how a run compares with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Records = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """A mark: `measure` of the record (kind, network, points), at most or at least `mark`, by the best of `versions`.

    With `against`, the measure is divided by that of another network in the same version.
    """

    what: str
    measure: str
    record: tuple[str, str, int]
    mark: float
    versions: tuple[str, ...]
    most: bool = True
    against: str | None = None
    unit: str = ""


BIG, SMALL, CPU, MANY = 512 * 512, 64 * 64, 256 * 256, 128 * 128
# Plain fp32 within 0.1 dB at 60 dB, and the same at 40 dB.
EXACT, REDUCED = ("staf fp32", "staf bf16x3"), ("staf tf32",)


def _pair(what: str, kind: str, network: str, points: int, exact: float, reduced: float) -> list[Target]:
    return [
        Target(f"{what}, exact", "ms", (kind, network, points), exact, EXACT, unit="ms"),
        Target(f"{what}, reduced", "ms", (kind, network, points), reduced, REDUCED, unit="ms"),
    ]


def _against_siren(what: str, measure: str, network: str, points: int, mark: float, version: str) -> Target:
    return Target(what, measure, ("train", network, points), mark, (version,), against="siren", unit="x")


GPU_TARGETS = [
    *_pair("train step, 262,144 points, tau 5", "train", "staf tau 5", BIG, 3.2, 2.2),
    *_pair("train step, 262,144 points, tau 50", "train", "staf tau 50", BIG, 9.0, 6.0),
    *_pair("train step, 4,096 points, tau 5", "train", "staf tau 5", SMALL, 0.12, 0.08),
    *_pair("inference, 262,144 points, tau 5", "inference", "staf tau 5", BIG, 1.3, 0.8),
    Target("inference, 262,144 points, tau 50", "ms", ("inference", "staf tau 50", BIG), 6.0, EXACT, unit="ms"),
    *(
        _against_siren(f"tau 5 / our SIREN, 262,144 points, {version}", "ms", "staf tau 5", BIG, 1.3, version)
        for version in (*EXACT, *REDUCED)
    ),
    _against_siren("peak memory, tau 50 / our SIREN, 262,144 points", "peak_gib", "staf tau 50", BIG, 1.1, EXACT[0]),
    Target("fit_many, exact", "images_per_s", ("many", "staf tau 5", MANY), 16.0, EXACT, False, unit="images/s"),
    Target("fit_many, reduced", "images_per_s", ("many", "staf tau 5", MANY), 32.0, REDUCED, False, unit="images/s"),
]
# On a shared machine the wall clock also times the neighbours, so processor time is given too.
CPU_TARGETS = [
    target
    for word, ratio, time in (("wall", "ratio", "ms"), ("processor", "processor_ratio", "processor_ms"))
    for target in (
        Target(
            f"tau 5, released / staf, {word} time", ratio, ("train", "staf tau 5", CPU), 15.0, EXACT, False, unit="x"
        ),
        Target(
            f"tau 50, released / staf, {word} time", ratio, ("train", "staf tau 50", CPU), 30.0, EXACT, False, unit="x"
        ),
        _against_siren(f"tau 5 / our SIREN, {word} time", time, "staf tau 5", CPU, 1.5, EXACT[0]),
    )
]
TARGETS = {"gpu": GPU_TARGETS, "cpu": CPU_TARGETS}


@dataclass(frozen=True)
class Standing:
    """What a run measured for a target, by which version, and whether that reaches the mark."""

    value: float
    version: str
    reached: bool


def standing(target: Target, records: Records) -> Standing | None:
    """The best of the target's versions; None where the run did not measure it.

    >>> run = [{"kind": "train", "network": "siren", "points": 64, "version": "staf fp32", "ms": 2.0}]
    >>> standing(Target("a step", "ms", ("train", "siren", 64), 3.0, ("staf fp32",)), run)
    Standing(value=2.0, version='staf fp32', reached=True)
    """
    kind, network, points = target.record
    found: list[tuple[float, str]] = []
    for version in target.versions:
        value = _find(records, (kind, network, points, version), target.measure)
        if target.against is not None and value is not None:
            other = _find(records, (kind, target.against, points, version), target.measure)
            value = value / other if other else None
        if value is not None:
            found.append((value, version))
    if not found:
        return None
    value, version = min(found) if target.most else max(found)
    return Standing(value, version, value <= target.mark if target.most else value >= target.mark)


def _find(records: Records, key: tuple[str, str, int, str], measure: str) -> float | None:
    for record in records:
        if (record["kind"], record["network"], record["points"], record["version"]) == key:
            return record.get(measure)
    return None
