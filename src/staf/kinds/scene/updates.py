"""What changes between the steps of a scene: the occupied cells, and the photos on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from staf.kinds.scene.room import Room
from staf.training.task import Predict

if TYPE_CHECKING:
    from staf.kinds.scene.task import Radiance
    from staf.training.state import State

# Steps between two looks at which cells hold matter. For the first UPDATE_ALL steps all cells are looked at, in blocks
# where they are more than FIRST_LOOKS, later a part of them: a quarter, or at most LATER_LOOKS.
UPDATE_EVERY = 16
UPDATE_ALL = 256
PARTS = 4
FIRST_LOOKS, LATER_LOOKS = 2**21, 2**20
# Looks after which the room for samples is fitted to the steps since then.
FIT_EVERY = 4


class UpdateScene:
    """A callback that updates the occupied cells and exchanges photos on the device, every 16 steps.

    Every 64 steps it fits the room for samples to what they have needed.
    """

    every = UPDATE_EVERY

    def __init__(self, task: Radiance) -> None:
        self.task = task
        self._next = 0

    def __call__(self, state: State) -> None:
        if state.step < self._next:
            return
        self._next = state.step + self.every
        module = state.field
        grid = self.task.grid
        parts, block = looks(grid.resolution, is_early=state.step <= UPDATE_ALL)
        grid.update(lambda points: density_of(module, points), parts=parts, block=block)
        self.task.photos.rotate()
        if grid.updates % FIT_EVERY == 0:
            for room in self._rooms():
                room.fit()

    def tensors(self) -> dict[str, Tensor]:
        own = {"next": torch.tensor(self._next), "turns": torch.tensor(self.task.photos.turns)}
        rooms = torch.stack([room.tensors() for room in self._rooms()])
        return {**self.task.grid.tensors(), **own, "draws": self.task.draws, "rooms": rooms}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.task.grid.load_tensors(tensors)
        self.task.photos.turn_to(int(tensors["turns"]))
        self.task.draws.copy_(tensors["draws"])
        self._next = int(tensors["next"])
        for room, kept in zip(self._rooms(), tensors["rooms"], strict=True):
            room.load(kept)

    def _rooms(self) -> tuple[Room, Room]:
        return self.task.looked_at, self.task.trained_on


def looks(resolution: int, *, is_early: bool) -> tuple[int, int]:
    """In how many parts a grid is looked at, and for how many cells along a side of a block at once.

    >>> looks(64, is_early=True), looks(256, is_early=True), looks(64, is_early=False), looks(256, is_early=False)
    ((1, 1), (1, 2), (4, 1), (16, 1))
    """
    if not is_early:
        return max(PARTS, resolution**3 // LATER_LOOKS), 1
    block = 1
    while (resolution // block) ** 3 > FIRST_LOOKS and resolution % (2 * block) == 0:
        block *= 2
    return 1, block


def density_of(module: nn.Module | Predict, points: Tensor) -> Tensor:
    """Density (n,) at positions (n, 3) by the field's own short cut, or by a pass that looks along x."""
    own = getattr(module, "density", None)
    if own is not None:
        return own(points)
    along = torch.zeros_like(points)
    along[:, 0] = 1
    return module(torch.cat([points, along], -1))[:, 0]
