"""The full suites: which cases each holds, in which versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from staf.benchmarking.cases import (
    AS_PREDICTED,
    BIG,
    COMPILED,
    EVERY_PRECISION,
    OURS,
    RELEASED,
    SMALL,
    Case,
    Version,
    short_cases,
)

OURS_MUON = Version("staf fp32, Muon", ours=True, optimiser="muon")
OURS_MUON_TF32 = Version("staf tf32, Muon", ours=True, precision="tf32", optimiser="muon")
UHD = 3840 * 2160


@dataclass(frozen=True)
class ManyCase(Case):
    """Many images, a network each: `points` per image.

    >>> ManyCase("many", "staf", 4096, terms=5, images=64).label
    'many staf tau 5, 64 images of 4,096 points, 250 steps'
    """

    images: int = 1
    steps: int = 250

    @property
    def amount(self) -> str:
        return f"{self.images} images of {super().amount}, {self.steps} steps"

    @property
    def trains(self) -> bool:
        return True

    @property
    def batched(self) -> bool:
        return True


def gpu_cases() -> list[Case]:
    """Training, inference, rendering, latency and many images at once, on one GPU."""
    both = (RELEASED, *EVERY_PRECISION)
    with_compile = (RELEASED, COMPILED, *EVERY_PRECISION)
    cases = []
    for points in (BIG, SMALL):
        cases += [
            Case("train", "staf", points, terms=5, versions=with_compile),
            Case("train", "staf", points, terms=20, versions=both),
            Case("train", "staf", points, terms=50, versions=with_compile if points == BIG else both),
            Case("train", "siren", points, versions=with_compile),
            Case("train", "finer", points, versions=both),
            Case("train", "gauss", points, versions=both),
            Case("train", "wire", points, versions=(RELEASED, OURS)),
        ]
    cases.append(Case("minibatch", "staf", SMALL, terms=5, versions=both))
    cases += [
        Case("inference", "staf", BIG, terms=5, versions=with_compile),
        Case("inference", "staf", BIG, terms=50, versions=both),
        Case("inference", "siren", BIG, versions=both),
        Case("render", "staf", UHD, terms=5, versions=AS_PREDICTED, chunk=2**18),
        Case("render", "siren", UHD, versions=AS_PREDICTED, chunk=2**18),
    ]
    cases += [Case("latency", "staf", points, terms=5, versions=AS_PREDICTED) for points in (1, 64, 1024)]
    cases.append(Case("latency", "siren", 1, versions=AS_PREDICTED))
    many = (RELEASED, *EVERY_PRECISION, OURS_MUON, OURS_MUON_TF32)
    cases.append(ManyCase("many", "staf", 128 * 128, terms=5, versions=many, images=64))
    return cases


def cpu_cases() -> list[Case]:
    """Training, inference and latency at 256x256 points."""
    points = 256 * 256
    return [
        Case("train", "siren", points, versions=(RELEASED, COMPILED, OURS)),
        Case("train", "staf", points, terms=5, versions=(RELEASED, COMPILED, OURS)),
        Case("inference", "staf", points, terms=5),
        Case("latency", "staf", 1, terms=5),
        Case("latency", "staf", 1024, terms=5),
        # One step of the released formula at tau 50 would hold about 40 GB.
        Case("train", "staf", points, terms=50, versions=(RELEASED, OURS), chunk=2**11),
    ]


# Suite -> its cases on a device.
SUITES: dict[str, Callable[[str], list[Case]]] = {
    "gpu": lambda device: gpu_cases(),
    "cpu": lambda device: cpu_cases(),
    "short": short_cases,
}
