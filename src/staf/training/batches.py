"""Which points each step sees: all of them, or epochs of shuffled mini-batches."""

from __future__ import annotations

import torch
from torch import Tensor


class Batches:
    """Indices and weights of successive batches.

    A full batch has neither. Otherwise every epoch is a fresh permutation drawn from `generator` on its own device,
    and the ragged last batch is padded with zero weights to keep one shape.

    >>> batches = Batches(points=5, size=2, generator=torch.Generator().manual_seed(0))
    >>> index, weight = torch.zeros(3, 2, dtype=torch.long), torch.zeros(3, 2)
    >>> batches.fill(index, weight)
    >>> weight.tolist()
    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    """

    def __init__(self, points: int, size: int, generator: torch.Generator) -> None:
        self.points = points
        self.size = size
        self.generator = generator
        self.per_epoch = -(-points // size)
        self.position = 0
        self._epoch_state = generator.get_state()
        self._order: Tensor | None = None
        if not self.full:
            last = points - (self.per_epoch - 1) * size
            self._weights = torch.full((self.per_epoch, size), 1.0 / size, device=generator.device)
            self._weights[-1] = 0
            self._weights[-1, :last] = 1.0 / last

    @property
    def full(self) -> bool:
        """Whether every step sees every point."""
        return self.size >= self.points

    def fill(self, index: Tensor, weight: Tensor) -> None:
        """Write the next len(index) batches into index (k, size) and weight (k, size)."""
        done = 0
        while done < len(index):
            if self._order is None or self.position == self.per_epoch:
                self._draw()
            assert self._order is not None
            count = min(len(index) - done, self.per_epoch - self.position)
            rows = slice(self.position, self.position + count)
            index[done : done + count].copy_(self._order[rows])
            weight[done : done + count].copy_(self._weights[rows])
            self.position += count
            done += count

    def _draw(self) -> None:
        self._epoch_state = self.generator.get_state()
        order = torch.randperm(self.points, generator=self.generator, device=self.generator.device)
        padding = self.per_epoch * self.size - self.points
        self._order = torch.cat([order, order[:1].expand(padding)]).view(self.per_epoch, self.size)
        self.position = 0

    def state(self) -> tuple[Tensor, int]:
        """The generator's state at the start of this epoch, and the position in it."""
        return self._epoch_state.clone(), self.position

    def load_state(self, generator_state: Tensor, position: int) -> None:
        """Go back to where `state` was taken: the permutation is drawn again, not stored."""
        self.generator.set_state(generator_state)
        self._order = None
        if not self.full and position > 0:
            self._draw()
            self.position = position
