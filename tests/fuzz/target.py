"""A loader to be tried on damaged files: its seeds, and what is done with each file."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from staf.signals import SignalError
from staf.storage import FileError
from tests.fuzz.mutation import mutated

ALLOWED = (SignalError, FileError)
Open = Callable[[Path], Any]


@dataclass
class Target:
    """A loader: the name of its file, valid files to damage, and what to do with a damaged one.

    `magic` is put back in front of most damaged files, which would else be told to be of no known format; `repair`
    makes checksums right again in most.
    """

    name: str
    file: str
    seeds: list[bytes]
    open: Open
    magic: bytes = b""
    repair: Callable[[bytes], bytes] | None = None

    def input(self, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
        """A damaged file."""
        data = mutated(chance, seeds)
        if self.magic and chance.random() < 0.95:
            data = self.magic + data[len(self.magic) :]
        if self.repair is not None and chance.random() < 0.8:
            data = self.repair(data)
        return data


def decoded_bytes(result: Any) -> int:
    """The memory that a signal takes once it is open."""
    held = getattr(result, "_array", None)
    if isinstance(held, np.ndarray):
        return held.nbytes
    if (points := getattr(result, "_points", None)) is not None:
        return points.nbytes
    if (views := getattr(result, "_train", None)) is not None:
        return views.pixels.nbytes
    mesh = getattr(result, "_mesh", None)
    return 0 if mesh is None else mesh.vertices.nbytes + mesh.faces.nbytes
