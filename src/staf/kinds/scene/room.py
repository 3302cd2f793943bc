"""Room for the samples of a step: all that it may need at first, later what the last steps have needed."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.ops.volume_rendering import Samples

# Sizes of a room are multiples of a sixteenth of the largest, because a step is recorded again for each size.
PARTS, LEAST = 16, 3
# A smaller room is taken where it would have been larger than the fullest of the last steps by this factor.
SPARE = 1.1
# How much larger the next room is after one that was too small.
MORE = 1.25


class Room:
    """How many samples a step has room for, `size`, which follows the most that any of the last steps has needed.

    A step computes all that it has room for, and rays through fog need several times as many samples as those that end
    at a surface. Nothing but `fit` waits for the device.

    >>> room = Room(1600)
    >>> room.note(Samples(torch.zeros(1600), torch.zeros(1600), torch.tensor([0, 300]), torch.tensor([300, 350])))
    >>> room.fit(), room.size
    (True, 800)
    """

    def __init__(self, most: int, device: torch.device | str = "cpu") -> None:
        self.most, self.size = most, most
        self.needed = torch.zeros((), device=device, dtype=torch.long)

    def note(self, found: Samples) -> None:
        """The samples of a step; a list that was cut off needs all of the room."""
        torch.maximum(self.needed, found.start[-1] + found.samples[-1], out=self.needed)

    def has(self, found: Samples) -> Tensor:
        """Which rays have all of their samples: the last one that fits may lack some, and those after it have none.

        >>> Room(4).has(Samples(torch.zeros(4), torch.zeros(4), torch.tensor([0, 2, 4]), torch.tensor([2, 2, 0])))
        tensor([ True, False, False])
        """
        return found.start + found.samples < self.size

    def fit(self) -> bool:
        """Take the size that suits the steps since the last call, and say whether it is another one."""
        needed, before = int(self.needed), self.size
        self.needed.zero_()
        sizes = [max(1, part * self.most // PARTS) for part in range(LEAST, PARTS + 1)]
        if needed >= before:
            self.size = min((size for size in sizes if size >= MORE * before), default=self.most)
        elif needed:
            self.size = min([before, *(size for size in sizes if size >= SPARE * needed)])
        return self.size != before

    def tensors(self) -> Tensor:
        """What a checkpoint keeps."""
        return torch.stack([torch.tensor(self.size), self.needed.cpu()])

    def load(self, kept: Tensor) -> None:
        """Continue from what `tensors` returned."""
        size, needed = (int(number) for number in kept)
        if not 1 <= size <= self.most:
            raise ValueError(f"a step has room for 1 to {self.most:,} samples, got {size:,}")
        self.size = size
        self.needed.fill_(needed)
