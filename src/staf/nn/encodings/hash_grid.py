"""The trainable hash-grid encoding, and what can be read from its table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from staf import ops
from staf._typing import Float
from staf.nn.arguments import choose
from staf.nn.init import fill, uniform
from staf.ops.hash_grid import INTERPOLATIONS, GridLayout, Level
from staf.ops.hash_grid.layout import FEATURES

# How far from zero features start, as Instant-NGP's.
START = 1e-4


@dataclass(frozen=True)
class LevelSummary:
    """One level of a grid.

    Args:
        resolution: cells on each axis.
        entries: rows of the table.
        dense: whether every vertex has a row of its own.
        used: the fraction of rows that some vertex, or some of the points asked about, reads.
        sharing: vertices for each row that is used; 1 is no collision.
        collided: the fraction of vertices whose row another vertex reads too.
        energy: the mean square of the features.
        changed: the fraction of rows that have left the interval in which they started.
    """

    resolution: tuple[int, ...]
    entries: int
    dense: bool
    used: float
    sharing: float
    collided: float
    energy: float
    changed: float


class HashGridEncoding(nn.Module):
    """Features of a multiresolution hash grid (Mueller et al. 2022): `levels * features` outputs for each point.

    `table` (entries, features) is trained; it starts at U(-1e-4, 1e-4). `ops.hash_grid` has the formula.

    Args:
        levels: grids, from `coarsest` cells a side to `finest`, in geometric steps.
        features: numbers per vertex: 1, 2, 4 or 8.
        log2_entries: a level has at most 2^log2_entries rows; finer levels share them by hashing.
        proportions: sides of the box that [-1, 1]^d represents, such as the (height, width) of an image, so that cells
            are about square; the longest side has `coarsest` to `finest` cells.
        interpolation: "linear", or "smoothstep" for second derivatives by the coordinates.

    >>> encoding = HashGridEncoding(2, levels=4, log2_entries=10, coarsest=4, finest=64)
    >>> encoding(torch.zeros(5, 2)).shape, tuple(encoding.table.shape)
    (torch.Size([5, 8]), (1846, 2))
    """

    table: Tensor

    def __init__(
        self,
        in_features: int,
        *,
        levels: int = 16,
        features: int = 2,
        log2_entries: int = 19,
        coarsest: int = 16,
        finest: int = 2048,
        proportions: Sequence[float] | None = None,
        interpolation: str = "linear",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.layout = GridLayout.geometric(
            in_features,
            levels=levels,
            log2_entries=log2_entries,
            coarsest=coarsest,
            finest=finest,
            proportions=proportions,
        )
        if features not in FEATURES:
            raise ValueError(f"features must be one of {', '.join(map(str, FEATURES))}, got {features}")
        self.interpolation = choose("interpolation", interpolation, INTERPOLATIONS)
        self.out_features = levels * features
        shape = (self.layout.entries, features)
        self.table = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        fill(self.table, lambda: uniform(shape, -START, START, generator))

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points m"]:
        """Features at the coordinates, in the table's own precision even under autocast."""
        return ops.hash_grid(
            coordinates.to(self.table.dtype), self.table, self.layout, interpolation=self.interpolation
        )

    def level_tables(self) -> list[Tensor]:
        """The rows (entries, features) of each level, as views of the table."""
        return list(self.table.split([level.entries for level in self.layout.levels]))

    @torch.no_grad()
    def summary(self, coordinates: Float[Tensor, "n d"] | None = None) -> list[LevelSummary]:
        """Occupancy, collisions and energy of each level: over all of its vertices, or those around given points.

        >>> grid = HashGridEncoding(2, levels=2, log2_entries=4, coarsest=3, finest=8)
        >>> [(level.dense, round(level.sharing, 1), level.used) for level in grid.summary()]
        [(True, 1.0, 1.0), (False, 5.1, 1.0)]
        """
        found = []
        for level, table in zip(self.layout.levels, self.level_tables(), strict=True):
            readers = _readers(level, coordinates, table.device)
            used = int((readers > 0).sum())
            vertices = int(readers.sum())
            found.append(
                LevelSummary(
                    level.resolution,
                    level.entries,
                    level.dense,
                    used=used / level.entries,
                    sharing=vertices / max(1, used),
                    collided=float(readers[readers > 1].sum()) / max(1, vertices),
                    energy=float(table.double().square().mean()),
                    changed=float((table.abs().amax(-1) > START).double().mean()),
                )
            )
        return found

    def extra_repr(self) -> str:
        first, last = self.layout.levels[0], self.layout.levels[-1]
        sizes = ["x".join(map(str, level.resolution)) for level in (first, last)]
        return (
            f"levels={len(self.layout.levels)}, features={self.table.shape[-1]}, entries={self.layout.entries:,}, "
            f"cells={sizes[0]} to {sizes[1]}, interpolation={self.interpolation!r}"
        )


# Vertices that are counted together.
_CHUNK = 2**22


def _readers(level: Level, coordinates: Tensor | None, device: torch.device) -> Tensor:
    """How many different vertices read each row of a level: of all its vertices, or of those around points."""
    count = torch.zeros(level.entries, dtype=torch.int64, device=device)
    if coordinates is None:
        for start in range(0, level.vertices, _CHUNK):
            number = torch.arange(start, min(start + _CHUNK, level.vertices), device=device)
            count += torch.bincount(level.row(_vertex(number, level)) - level.offset, minlength=level.entries)
        return count
    cells = torch.tensor(level.resolution, device=device)
    position = (coordinates.to(device).clamp(-1, 1) + 1) * (cells / 2)
    corner = position.floor().long().minimum(cells - 1)
    numbers = []
    for bits in itertools.product((0, 1), repeat=len(level.resolution)):
        vertex, number = corner + torch.tensor(bits, device=device), torch.zeros_like(corner[:, 0])
        for axis, size in enumerate(level.resolution):
            number = number * (size + 1) + vertex[:, axis]
        numbers.append(number)
    number = torch.cat(numbers).unique()
    return count + torch.bincount(level.row(_vertex(number, level)) - level.offset, minlength=level.entries)


def _vertex(number: Tensor, level: Level) -> Tensor:
    """The vertex (n, d) of each number (n,), counted in C order."""
    axes = []
    for cells in reversed(level.resolution):
        axes.append(number % (cells + 1))
        number = number // (cells + 1)
    return torch.stack(axes[::-1], dim=-1)
