"""Tasks: a problem to solve is a signal, what is observed of it, a loss, and how to evaluate it."""

from __future__ import annotations

from staf.signals.base import Signal
from staf.signals.grid import Convention
from staf.tasks.callbacks import KeepBestHeldOut, Oracle
from staf.tasks.denoising import Denoising
from staf.tasks.inverse import InverseProblem
from staf.tasks.perceptual import PerceptualReconstruction
from staf.tasks.reconstruction import Reconstruction
from staf.tasks.super_resolution import SuperResolution
from staf.training.task import Task


def task_for(signal: Signal, convention: Convention = "centres") -> Task:
    """The task that `staf.fit` solves for a signal: that of its kind.

    >>> from staf.kinds import Shape
    >>> type(task_for(Shape.sphere(resolution=8))).__name__
    'Occupancy'
    """
    return signal.task(convention)


__all__ = [
    "Denoising",
    "InverseProblem",
    "KeepBestHeldOut",
    "Oracle",
    "PerceptualReconstruction",
    "Reconstruction",
    "SuperResolution",
    "task_for",
]
