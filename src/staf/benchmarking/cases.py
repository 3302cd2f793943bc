"""The registry: what is timed, in which versions, and which suite holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import nn

from staf.nn import NETWORKS
from staf.ops.linear import ProductPrecision

Kind = Literal["train", "minibatch", "inference", "render", "latency", "many"]


@dataclass(frozen=True)
class Version:
    """One way to compute a case: the released formula or ours, compiled by torch or not, at a matmul precision."""

    name: str
    ours: bool = False
    compiled: bool = False
    precision: ProductPrecision = "fp32"
    optimiser: Literal["adam", "muon"] = "adam"


RELEASED = Version("released")
COMPILED = Version("released, torch.compile", compiled=True)
OURS = Version("staf fp32", ours=True)
OURS_SPLIT = Version("staf bf16x3", ours=True, precision="bf16x3")
OURS_TF32 = Version("staf tf32", ours=True, precision="tf32")
OURS_MUON = Version("staf fp32, Muon", ours=True, optimiser="muon")
OURS_MUON_TF32 = Version("staf tf32, Muon", ours=True, precision="tf32", optimiser="muon")
EVERY_PRECISION = (OURS, OURS_SPLIT, OURS_TF32)
# Fields are evaluated in bf16x3 on a GPU unless a caller says otherwise.
AS_PREDICTED = (RELEASED, OURS_SPLIT)


@dataclass(frozen=True)
class Case:
    """A network and an amount of work.

    `points` is per step, per forward pass or, for `many`, per image; `images` and `steps` are of `many` alone.
    `chunk` bounds how many points the released formula sees at once, where all of them do not fit in memory.

    >>> Case("train", "staf", 4096, terms=5).label
    'train staf tau 5, 4,096 points'
    """

    kind: Kind
    model: Literal["staf", "siren", "finer", "gauss", "wire"]
    points: int
    terms: int | None = None
    versions: tuple[Version, ...] = (RELEASED, OURS)
    width: int = 256
    depth: int = 4
    images: int = 1
    steps: int = 250
    chunk: int | None = None

    @property
    def network(self) -> str:
        """The network in words."""
        return self.model if self.terms is None else f"{self.model} tau {self.terms}"

    @property
    def label(self) -> str:
        """The case in words; unique in a suite."""
        amount = "1 point" if self.points == 1 else f"{self.points:,} points"
        if self.kind == "many":
            amount = f"{self.images} images of {amount}, {self.steps} steps"
        return f"{self.kind} {self.network}, {amount}"

    def field(self, device: torch.device | str, seed: int = 0) -> nn.Module:
        """The library's network of this case, from coordinates (n, 2) to values (n, 3)."""
        generator = torch.Generator().manual_seed(seed)
        make = NETWORKS[self.model].factory
        constants = {} if self.terms is None else {"terms": self.terms}
        return make(2, 3, width=self.width, depth=self.depth, generator=generator, **constants).to(device)


BIG, SMALL, UHD = 512 * 512, 64 * 64, 3840 * 2160


def _gpu() -> list[Case]:
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
    cases.append(Case("many", "staf", 128 * 128, terms=5, versions=many, images=64))
    return cases


def _cpu() -> list[Case]:
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


def _short_cpu() -> list[Case]:
    return [
        Case("train", "siren", SMALL),
        Case("train", "staf", SMALL, terms=5),
        Case("train", "staf", 2**10, terms=50),
        Case("inference", "staf", SMALL, terms=5),
        Case("latency", "staf", 1, terms=5),
    ]


def _short_gpu() -> list[Case]:
    versions = (RELEASED, *EVERY_PRECISION)
    return [
        Case("train", "siren", BIG, versions=versions),
        Case("train", "staf", BIG, terms=5, versions=versions),
        Case("train", "staf", SMALL, terms=5, versions=versions),
        Case("inference", "staf", BIG, terms=5, versions=versions),
        Case("latency", "staf", 1, terms=5, versions=AS_PREDICTED),
    ]


def _short(device: str) -> list[Case]:
    return _short_gpu() if device.startswith("cuda") else _short_cpu()


# Suite -> its cases on a device.
SUITES: dict[str, Callable[[str], list[Case]]] = {
    "gpu": lambda device: _gpu(),
    "cpu": lambda device: _cpu(),
    "short": _short,
}


def shrunk(case: Case, *, points: int = 64, width: int = 8, depth: int = 3) -> Case:
    """The same case small enough for a test of the machinery."""
    many = {"images": 2, "steps": 3} if case.kind == "many" else {}
    return replace(case, points=points, width=width, depth=depth, chunk=None, **many)  # type: ignore[arg-type]
