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

# Fits of one kind: tasks, the constants that every arm gets, and what is done to a fresh network for each task.
Start = Callable[[nn.Module], None]


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
    """

    tasks: Sequence[Any]
    names: Sequence[str]
    measure: str = "psnr"
    constants: dict[str, Any] = field(default_factory=dict)
    starts: Sequence[Start] = ()
    batch: int | None = None

    def fresh(self, arm: Arm, place: int, width: int, seed: int) -> nn.Module:
        """A new network of an arm for one of the tasks."""
        task = self.tasks[place]
        field = network(arm, task.in_features, task.out_features, width, seed, **self.constants)
        if self.starts:
            self.starts[place](field)
        return field


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


def recordings(recording: Any, seconds: float, pieces: int) -> Problem:
    """Pieces of a recording, spread over its length; each network's first sines follow the pitch of its piece."""
    from staf.kinds import Audio
    from staf.nn.first_layer import SineLayer
    from staf.planning.first_frequency import first_hertz
    from staf.tasks import Reconstruction

    size = min(round(seconds * recording.rate), recording.samples // pieces)
    starts = np.linspace(0, recording.samples - size, pieces).astype(int)
    parts = [
        Audio(recording.array[at : at + size], recording.rate, name=f"{at / recording.rate:.1f} s") for at in starts
    ]

    def start_of(part: Any) -> Start:
        cycles = first_hertz(part, part.seconds)[0] * part.seconds
        return lambda field: SineLayer().enlarge(field, cycles)

    return Problem(
        [Reconstruction(part) for part in parts],
        [part.name for part in parts],
        constants={"omega0": 30.0, "hidden_omega0": 30.0},
        starts=[start_of(part) for part in parts],
    )


def shapes(sources: Sequence[Any], names: Sequence[str], omega0: float, batch: int) -> Problem:
    """Occupancies, by mini-batches of voxels; the measure is the share of errors, as decibels of 1 - IoU."""
    from paper.experiments.shapes import voxel_task

    tasks = [_ErrorInDecibels(voxel_task(shape, "centres")) for shape in sources]
    constants = {"omega0": omega0, "hidden_omega0": 30.0}
    return Problem(tasks, names, "iou_db", constants, batch=batch)


class _ErrorInDecibels:
    """A task whose IoU is also given as -10 log10(1 - IoU), so that means over shapes say something."""

    def __init__(self, task: Any) -> None:
        self._task = task

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._task, name)

    def to(self, device: torch.device | str) -> _ErrorInDecibels:
        return _ErrorInDecibels(self._task.to(device))

    def evaluate(self, predict: Any) -> dict[str, float]:
        found: dict[str, float] = self._task.evaluate(predict)
        return {**found, "iou_db": -10 * math.log10(max(1 - found["iou"], 1e-7))}


def _square(array: np.ndarray, side: int) -> np.ndarray:
    """The middle square of a picture at `side` pixels."""
    short = min(array.shape[:2])
    top, left = ((have - short) // 2 for have in array.shape[:2])
    square = array[top : top + short, left : left + short]
    return square if short <= side else area_means(square, (side, side))
