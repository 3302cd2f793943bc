"""Tasks: a problem to solve is a signal, what is observed of it, a loss, and how to evaluate it."""

from __future__ import annotations

from typing import Any

from staf.signals.grid import Convention
from staf.tasks.denoising import Denoising
from staf.tasks.occupancy import Occupancy
from staf.tasks.reconstruction import Reconstruction
from staf.tasks.super_resolution import SuperResolution
from staf.tasks.watching import KeepBestHeldOut, Oracle

# The task that fits a signal of each kind; the others are reconstructed sample by sample.
BY_KIND: dict[str, Any] = {"shape": Occupancy}


def task_for(signal: Any, convention: Convention = "centres") -> Any:
    """The task that `staf.fit` solves for a signal.

    >>> from staf.kinds import Shape
    >>> type(task_for(Shape.sphere(resolution=8))).__name__
    'Occupancy'
    """
    return BY_KIND.get(signal.kind, Reconstruction)(signal, convention)


__all__ = [
    "BY_KIND",
    "Denoising",
    "KeepBestHeldOut",
    "Occupancy",
    "Oracle",
    "Reconstruction",
    "SuperResolution",
    "task_for",
]
