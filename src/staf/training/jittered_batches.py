"""Batches of signals too large for a permutation: one point from each of as many equal runs as a batch has points."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class JitteredBatches:
    """Indices floor((i + u) points / size), with u ~ U(0, 1) drawn afresh for each point i of each batch.

    Every point is drawn equally often in the mean, and a batch is spread evenly over the signal. Nothing of the
    signal's size is allocated, and indices ascend, so that neighbours in a batch are neighbours in memory. As
    `Batches`, for sizes below the number of points; `on_fill(points)` is called with how many points each call drew.

    >>> batches = JitteredBatches(points=8, size=4, generator=torch.Generator().manual_seed(0))
    >>> index, weight = torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, 4)
    >>> batches.fill(index, weight)
    >>> (index // 2).tolist(), weight[0].tolist()
    ([[0, 1, 2, 3], [0, 1, 2, 3]], [0.25, 0.25, 0.25, 0.25])
    """

    full = False
    per_epoch = 1

    def __init__(
        self,
        points: int,
        size: int,
        generator: torch.Generator,
        on_fill: Callable[[int], None] | None = None,
    ) -> None:
        if not 1 <= size <= points:
            raise ValueError(f"size must be from 1 to the {points:,} points, got {size:,}")
        self.points, self.size, self.generator, self.on_fill = points, size, generator, on_fill
        self.position = 0
        # Where run i begins, exactly: float64 holds products of points and sizes up to 2^53.
        self._runs = torch.arange(size, device=generator.device, dtype=torch.float64)

    def fill(self, index: Tensor, weight: Tensor) -> None:
        """Write the next len(index) batches into index (k, size) and weight (k, size)."""
        if self.on_fill is not None:
            self.on_fill(index.numel())
        for row in index:
            drawn = torch.rand(self.size, generator=self.generator, device=self.generator.device, dtype=torch.float64)
            place = drawn.add_(self._runs).mul_(self.points / self.size).long()
            row.copy_(place.clamp_(max=self.points - 1))
        weight.fill_(1.0 / self.size)

    def state(self) -> tuple[Tensor, int]:
        """The generator's state; there is no place in an epoch."""
        return self.generator.get_state().clone(), 0

    def load_state(self, generator_state: Tensor, position: int) -> None:
        """Continue as after `state`."""
        self.generator.set_state(generator_state)
