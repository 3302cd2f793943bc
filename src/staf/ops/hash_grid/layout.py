"""Where the features of a multiresolution grid lie in its table: levels, resolutions, dense or hashed."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

MOST_DIMENSIONS = 4
MOST_LEVELS = 32
FEATURES = (1, 2, 4, 8)
LOG2_ENTRIES = (1, 28)
MOST_CELLS = 2**24
# Kernels address a table with 32 bits.
MOST_NUMBERS = 2**31 - 1
# The factors of the last axis, the one before it, and so on: neighbours along the last axis are neighbours in memory.
PRIMES = (1, 2654435761, 805459861, 3674653429)


@dataclass(frozen=True)
class Level:
    """One grid of `resolution` cells on each axis, (resolution + 1) vertices, in rows `offset` ... of the table.

    A dense level has a row for every vertex, in C order. A hashed one has 2^T rows, and vertex c is in row
    (c_d p_1 xor c_(d-1) p_2 xor ...) mod 2^T, counted from the last axis, with the primes of Instant-NGP.

    >>> Level((3, 4), offset=10, entries=20, dense=True).row(torch.tensor([[2, 1]])).item()
    21
    """

    resolution: tuple[int, ...]
    offset: int
    entries: int
    dense: bool

    @property
    def vertices(self) -> int:
        """How many vertices share the rows of this level."""
        return math.prod(cells + 1 for cells in self.resolution)

    def row(self, vertex: Tensor) -> Tensor:
        """The table's row of each vertex (..., d), an integer tensor (...)."""
        row = torch.zeros_like(vertex[..., 0])
        if self.dense:
            for axis, cells in enumerate(self.resolution):
                row = row * (cells + 1) + vertex[..., axis]
        else:
            for axis, prime in zip(reversed(range(len(self.resolution))), PRIMES, strict=False):
                row = row ^ (vertex[..., axis] * prime)
            row = row % self.entries
        return row + self.offset


@dataclass(frozen=True)
class GridLayout:
    """The levels of a grid, coarsest first; make one with `geometric`.

    >>> layout = GridLayout.geometric(2, levels=3, log2_entries=6, coarsest=4, growth=2.0)
    >>> [(level.resolution, level.entries, level.dense) for level in layout.levels]
    [((4, 4), 25, True), ((8, 8), 64, False), ((16, 16), 64, False)]
    >>> layout.entries
    153
    """

    levels: tuple[Level, ...]

    @classmethod
    def geometric(
        cls,
        dimensions: int,
        *,
        levels: int = 16,
        log2_entries: int = 19,
        coarsest: int = 16,
        growth: float | None = None,
        finest: int | None = None,
        proportions: Sequence[float] | None = None,
    ) -> GridLayout:
        """Resolutions coarsest growth^l, rounded down; dense where (resolution + 1)^d rows fit into 2^log2_entries.

        Args:
            dimensions: of the coordinates, 1 to 4.
            growth: of the resolution from one level to the next; or give `finest`, the last level's resolution.
            proportions: sides of the box that [-1, 1]^d stands for, such as an image's height and width; the longest
                axis has the resolutions above, and the others are shorter in proportion (at least one cell).

        >>> layout = GridLayout.geometric(2, levels=2, coarsest=4, finest=100, proportions=(300, 400))
        >>> [level.resolution for level in layout.levels]
        [(3, 4), (75, 100)]
        """
        _within("dimensions", dimensions, 1, MOST_DIMENSIONS)
        _within("levels", levels, 1, MOST_LEVELS)
        _within("log2_entries", log2_entries, *LOG2_ENTRIES)
        _within("coarsest", coarsest, 1, MOST_CELLS)
        if (growth is None) == (finest is None):
            raise ValueError(f"give growth or finest, not both and not neither, got growth={growth}, finest={finest}")
        if finest is not None:
            _within("finest", finest, coarsest, MOST_CELLS)
            growth = (finest / coarsest) ** (1 / max(1, levels - 1))
        assert growth is not None
        if not (math.isfinite(growth) and growth >= 1):
            raise ValueError(f"growth must be a number of at least 1, got {growth}")
        sides = [1.0] * dimensions if proportions is None else [float(side) for side in proportions]
        if len(sides) != dimensions or not all(math.isfinite(side) and side > 0 for side in sides):
            raise ValueError(f"proportions must be {dimensions} positive numbers, got {proportions}")
        made, offset, most = [], 0, 2**log2_entries
        for index in range(levels):
            # The last level's own resolution, for example 2048, must not become 2047 by rounding.
            cells = coarsest * growth**index + 1e-6
            if cells > MOST_CELLS:
                raise ValueError(f"level {index} would have {cells:.3g} cells a side, more than {MOST_CELLS:,}")
            resolution = tuple(max(1, int(cells * side / max(sides) + 1e-6)) for side in sides)
            vertices = math.prod(side + 1 for side in resolution)
            made.append(Level(resolution, offset, min(vertices, most), vertices <= most))
            offset += made[-1].entries
        return cls(tuple(made))

    @property
    def dimensions(self) -> int:
        return len(self.levels[0].resolution)

    @property
    def entries(self) -> int:
        """Rows of the table."""
        return self.levels[-1].offset + self.levels[-1].entries

    @property
    def finest(self) -> int:
        """Cells along the longest axis of the last level."""
        return max(self.levels[-1].resolution)


COLUMNS = 3 + MOST_DIMENSIONS


@functools.lru_cache(maxsize=64)
def level_table(layout: GridLayout, device: torch.device) -> Tensor:
    """What kernels read of a layout: a row (offset, entries, dense, resolution ...) of int32 for each level."""
    rows = [
        [level.offset, level.entries, int(level.dense), *level.resolution, *[0] * (MOST_DIMENSIONS - layout.dimensions)]
        for level in layout.levels
    ]
    return torch.tensor(rows, dtype=torch.int32, device=device)


def _within(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
