"""Which points each step sees: all of them, or epochs of shuffled mini-batches."""

from __future__ import annotations

import torch
from torch import Tensor


class Batches:
    """Indices and weights of successive batches.

    A full batch is (None, None). Otherwise every epoch is a fresh permutation drawn on the CPU from `generator` (so
    that every device sees the same order), and the ragged last batch is padded with zero weights to keep one shape.

    >>> batches = Batches(points=5, size=2, generator=torch.Generator().manual_seed(0))
    >>> [batches.next()[1].tolist() for _ in range(3)]
    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    """

    def __init__(
        self, points: int, size: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> None:
        self.points = points
        self.size = size
        self.device = device
        self.generator = generator
        self.per_epoch = -(-points // size)
        self.position = 0
        self._epoch_state = generator.get_state()
        self._order: Tensor | None = None

    @property
    def full(self) -> bool:
        """Whether every step sees every point."""
        return self.size >= self.points

    def next(self) -> tuple[Tensor | None, Tensor | None]:
        """The next batch: flat indices (size,) and weights (size,)."""
        if self.full:
            return None, None
        if self._order is None or self.position == self.per_epoch:
            self._draw()
        assert self._order is not None
        start = self.position * self.size
        count = min(self.size, self.points - start)
        index = self._order[start : start + self.size]
        weight = torch.zeros(self.size, device=self.device)
        weight[:count] = 1.0 / count
        self.position += 1
        return index, weight

    def _draw(self) -> None:
        self._epoch_state = self.generator.get_state()
        order = torch.randperm(self.points, generator=self.generator)
        padding = self.per_epoch * self.size - self.points
        if padding:
            order = torch.cat([order, order[:1].expand(padding)])
        self._order = order.to(self.device)
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
