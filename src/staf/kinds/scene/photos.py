"""The photos of a scene on a device: as bytes, all of them or as many as fit, in turn."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Int, UInt8

# Bytes of photos on a device; more are kept in the host's memory and exchanged in turn.
MOST_BYTES = 2**32


class PhotoPool:
    """Slots on a device that hold photos (v, h, w, c) of bytes; where there are fewer slots than photos, they rotate.

    `view` says which photo each slot holds. The order of the photos is drawn from `seed`.

    >>> pool = PhotoPool(torch.zeros(5, 2, 2, 3, dtype=torch.uint8), most_bytes=24)
    >>> before = pool.view.tolist()
    >>> pool.rotate()
    >>> len(before), before[1] == pool.view.tolist()[1], before[0] == pool.view.tolist()[0]
    (2, True, False)
    """

    def __init__(self, pixels: UInt8[Tensor, "v h w c"], *, most_bytes: int = MOST_BYTES, seed: int = 0) -> None:
        self.every = pixels
        slots = min(len(pixels), max(1, most_bytes // max(1, pixels[0].numel())))
        self.rotating = slots < len(pixels)
        order = torch.arange(len(pixels))
        if self.rotating:
            order = torch.randperm(len(pixels), generator=torch.Generator().manual_seed(seed))
        self._order = order
        self.turns = 0
        self.view = order[:slots].clone()
        self.pixels = pixels[self.view] if self.rotating else pixels

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def device(self) -> torch.device:
        return self.pixels.device

    def to(self, device: torch.device | str) -> PhotoPool:
        """Move the slots; photos that wait stay where they are."""
        self.pixels, self.view = self.pixels.to(device), self.view.to(device)
        return self

    def at(self, slot: Int[Tensor, " n"], inside: Int[Tensor, " n"]) -> UInt8[Tensor, "n c"]:
        """Pixels of slots, counted inside a photo in C order."""
        height, width, channels = self.pixels.shape[1:]
        return self.pixels.reshape(-1, channels)[slot * (height * width) + inside]

    def rotate(self) -> None:
        """Put the next photo in the place of the one that has been there longest; nothing where all are there."""
        if not self.rotating:
            return
        slot = self.turns % len(self)
        self._put(slot, int(self._order[(len(self) + self.turns) % len(self._order)]))
        self.turns += 1

    def _put(self, slot: int, photo: int) -> None:
        self.pixels[slot].copy_(self.every[photo])
        self.view[slot] = photo

    def turn_to(self, turns: int) -> None:
        """Hold what is there after so many turns, when a fit is resumed."""
        if not self.rotating or turns == self.turns:
            return
        for slot in range(len(self)):
            # The last turn before `turns` that fell on this slot; before the first one, the photo it started with.
            last = turns - 1 - (turns - 1 - slot) % len(self)
            place = slot if last < 0 else len(self) + last
            self._put(slot, int(self._order[place % len(self._order)]))
        self.turns = turns
