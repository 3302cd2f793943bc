"""The signals that the arms are compared on: pictures, pieces of a recording, shapes; the first of each is for search.

Nothing is chosen by looking at the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from paper.data.preparation import area_means
from paper.sines.arms import Arm, network

# What is done to a fresh network of a task.
Start = Callable[[nn.Module], None]
# Arm, inputs, outputs, width and seed, and constants by name, to a fresh network.
Maker = Callable[..., nn.Module]


@dataclass(frozen=True)
class Problem:
    """Tasks with the same loss, of which the first is searched on, and how networks for them start.

    Args:
        tasks: what is fitted; the first one is for the search.
        names: of the tasks.
        measure: which of the tasks' measures counts; larger is better.
        constants: of every arm, such as omega0.
        starts: for each task, what is done to a fresh network.
        batch: points of a step; all of them if not given.
        make: what makes a fresh network of an arm.
        features: inputs and outputs of what the arms differ in, where that is not the whole network.
        searched: the measure that rates are searched by, if not by the one that counts.
        stateful: whether training changes a task, so that each fit needs a copy of its own.
    """

    tasks: Sequence[Any]
    names: Sequence[str]
    measure: str = "psnr"
    constants: dict[str, Any] = field(default_factory=dict)
    starts: Sequence[Start] = ()
    batch: int | None = None
    make: Maker = network
    features: tuple[int, int] | None = None
    searched: str = ""
    stateful: bool = False

    def width(self, arm: Arm, width: int) -> int:
        """The width that an arm has where the comparison has `width`."""
        return arm.width(*self._features(0), width)

    def fresh(self, arm: Arm, place: int, width: int, seed: int) -> nn.Module:
        """A new network of an arm for one of the tasks."""
        field = self.make(arm, *self._features(place), width, seed, **self.constants)
        if self.starts:
            self.starts[place](field)
        return field

    def _features(self, place: int) -> tuple[int, int]:
        return self.features or (self.tasks[place].in_features, self.tasks[place].out_features)


def pictures(sources: Sequence[Any], side: int, omega0_factor: float = 1.0) -> Problem:
    """Pictures as area means of `side` pixels; omega0 by our rule on the first one, times a factor."""
    from staf.kinds import Image
    from staf.planning.first_frequency import grid_omega0
    from staf.tasks import Reconstruction

    small = [Image(_square(source.array, side), name=source.name) for source in sources]
    found = grid_omega0(small[0])
    assert found is not None
    return Problem(
        [Reconstruction(image) for image in small],
        [image.name for image in small],
        constants={"omega0": round(found[0] * omega0_factor, 3), "hidden_omega0": 30.0},
    )


def recordings(recording: Any, seconds: float, pieces: int, omega0_factor: float = 1.0) -> Problem:
    """Pieces of a recording, spread over its length; each network's first sines follow the pitch of its piece.

    Their frequencies are multiplied by `omega0_factor`.
    """
    from staf.tasks import Reconstruction

    parts = pieces_of(recording, seconds, pieces)
    return Problem(
        [Reconstruction(part) for part in parts],
        [part.name for part in parts],
        constants={"omega0": 30.0, "hidden_omega0": 30.0},
        starts=[pitch_start(part, omega0_factor) for part in parts],
    )


def pieces_of(recording: Any, seconds: float, pieces: int) -> list[Any]:
    """Pieces of equal length, from the first to the last samples of a recording, named by where they start."""
    from staf.kinds import Audio

    size = min(round(seconds * recording.rate), recording.samples // pieces)
    starts = np.linspace(0, recording.samples - size, pieces).astype(int)
    rounded = [f"{at / recording.rate:.1f} s" for at in starts]
    # Values are kept by name.
    names = rounded if len(set(rounded)) == pieces else [f"sample {at}" for at in starts]
    return [
        Audio(recording.array[at : at + size], recording.rate, name=name)
        for at, name in zip(starts, names, strict=True)
    ]


def pitch_start(part: Any, factor: float = 1.0) -> Start:
    """First sines by the pitch of what is heard, as our plans have them, times a factor."""
    from staf.nn.first_layer import SineLayer
    from staf.planning.first_frequency import first_hertz

    cycles = factor * first_hertz(part, part.seconds)[0] * part.seconds
    return lambda field: SineLayer().enlarge(field, cycles)


def shapes(sources: Sequence[Any], names: Sequence[str], omega0: float, batch: int) -> Problem:
    """Occupancies, by mini-batches of voxels; the measure is the share of errors, as decibels of 1 - IoU."""
    from paper.experiments.shapes import voxel_task

    def decibels(found: dict[str, float]) -> float:
        return -10 * math.log10(max(1 - found["iou"], 1e-7))

    tasks = [InDecibels(voxel_task(shape, "centres"), "iou_db", decibels) for shape in sources]
    constants = {"omega0": omega0, "hidden_omega0": 30.0}
    return Problem(tasks, names, "iou_db", constants, batch=batch)


class InDecibels:
    """A task whose measures are also given in decibels, larger being better, so that means over signals say something.

    Args:
        task: any.
        name: of the new measure.
        decibels: the task's measures to the new one.
    """

    def __init__(self, task: Any, name: str, decibels: Callable[[dict[str, float]], float]) -> None:
        self._task, self._name, self._decibels = task, name, decibels

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._task, name)

    def to(self, device: torch.device | str) -> InDecibels:
        return InDecibels(self._task.to(device), self._name, self._decibels)

    def evaluate(self, predict: Any) -> dict[str, float]:
        found: dict[str, float] = self._task.evaluate(predict)
        return {**found, self._name: self._decibels(found)}


def _square(array: np.ndarray, side: int) -> np.ndarray:
    """The middle square of a picture at `side` pixels."""
    short = min(array.shape[:2])
    top, left = ((have - short) // 2 for have in array.shape[:2])
    square = array[top : top + short, left : left + short]
    return square if short <= side else area_means(square, (side, side))
