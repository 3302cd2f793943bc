"""What is timed, in which versions; and the short suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from staf.nn import NETWORKS
from staf.ops.linear import ProductPrecision


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
EVERY_PRECISION = (OURS, OURS_SPLIT, OURS_TF32)
# Fields are evaluated in bf16x3 on a GPU unless a caller says otherwise.
AS_PREDICTED = (RELEASED, OURS_SPLIT)
BIG, SMALL = 512 * 512, 64 * 64


@dataclass(frozen=True)
class Case:
    """A network and an amount of work: `points` per step or per forward pass.

    `kind` names the program that is timed (`staf.benchmarking.programs`). `chunk` bounds how many points the released
    formula gets at once, where all of them do not fit in memory.

    >>> Case("train", "staf", 4096, terms=5).label
    'train staf tau 5, 4,096 points'
    """

    kind: str
    model: Literal["staf", "siren", "finer", "gauss", "wire"]
    points: int
    terms: int | None = None
    versions: tuple[Version, ...] = (RELEASED, OURS)
    width: int = 256
    depth: int = 4
    chunk: int | None = None

    @property
    def network(self) -> str:
        """The network in words."""
        return self.model if self.terms is None else f"{self.model} tau {self.terms}"

    @property
    def label(self) -> str:
        """The case in words; unique in a suite."""
        return f"{self.kind} {self.network}, {self.amount}"

    @property
    def amount(self) -> str:
        """The amount of work in words."""
        return "1 point" if self.points == 1 else f"{self.points:,} points"

    @property
    def trains(self) -> bool:
        """Whether gradients are computed."""
        return self.kind in ("train", "minibatch")

    @property
    def batched(self) -> bool:
        """Whether several networks are computed at once."""
        return False

    def field(self, device: torch.device | str, seed: int = 0) -> nn.Module:
        """The library's network of this case, from coordinates (n, 2) to values (n, 3)."""
        generator = torch.Generator().manual_seed(seed)
        make = NETWORKS[self.model].factory
        constants = {} if self.terms is None else {"terms": self.terms}
        return make(2, 3, width=self.width, depth=self.depth, generator=generator, **constants).to(device)


def short_cases(device: str) -> list[Case]:
    """The short suite for a device: about a minute.

    >>> [case.label for case in short_cases("cpu")][-1]
    'latency staf tau 5, 1 point'
    """
    if device.startswith("cuda"):
        versions = (RELEASED, *EVERY_PRECISION)
        return [
            Case("train", "siren", BIG, versions=versions),
            Case("train", "staf", BIG, terms=5, versions=versions),
            Case("train", "staf", SMALL, terms=5, versions=versions),
            Case("inference", "staf", BIG, terms=5, versions=versions),
            Case("latency", "staf", 1, terms=5, versions=AS_PREDICTED),
        ]
    return [
        Case("train", "siren", SMALL),
        Case("train", "staf", SMALL, terms=5),
        Case("train", "staf", 2**10, terms=50),
        Case("inference", "staf", SMALL, terms=5),
        Case("latency", "staf", 1, terms=5),
    ]
