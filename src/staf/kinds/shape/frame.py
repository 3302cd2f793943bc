"""Frame: where a shape's grid lies in the frame of its mesh, and back."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from staf._documents import Document, Entries, Record
from staf.signals.errors import SignalError
from staf.signals.grid import Convention

# Voxels along the longest side, of which a file may speak.
LARGEST_RESOLUTION = 2**20


@dataclass(frozen=True)
class Frame:
    """The similarity between a mesh's frame and the cube, and the box of voxels that was kept of the cube.

    cube = (world - centre) / half; sample i of the full grid is at (2 i + 1) / resolution - 1 of the cube; the kept
    box has `shape` samples from `offset` on.

    >>> frame = Frame((10.0, 0.0, 0.0), 2.0, 4, (0, 1, 1), (4, 2, 2))
    >>> frame.from_index(np.array([[0.0, 0.0, 0.0]])).tolist()
    [[8.5, -0.5, -0.5]]
    >>> frame.to_cube(np.array([[12.0, 0.0, -2.0]])).tolist()
    [[1.0, 0.0, -1.0]]
    """

    centre: tuple[float, float, float]
    half: float
    resolution: int
    offset: tuple[int, int, int]
    shape: tuple[int, int, int]

    def to_cube(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) of the mesh's frame to the cube, where the longest side of its box spans [-1, 1]."""
        return (points - np.array(self.centre)) / self.half

    def from_cube(self, points: np.ndarray) -> np.ndarray:
        """The inverse of `to_cube`."""
        return points * self.half + np.array(self.centre)

    def from_index(self, index: np.ndarray) -> np.ndarray:
        """Positions (n, 3) in samples of the kept box, fractions allowed, to the mesh's frame."""
        return self.from_cube((2 * (index + np.array(self.offset)) + 1) / self.resolution - 1)

    def to_index(self, points: np.ndarray) -> np.ndarray:
        """The inverse of `from_index`."""
        return ((self.to_cube(points) + 1) * self.resolution - 1) / 2 - np.array(self.offset)

    def to_field(self, points: np.ndarray, convention: Convention = "centres") -> np.ndarray:
        """Points (n, 3) of the mesh's frame to a field's coordinates, which span [-1, 1] over the kept box."""
        index, shape = self.to_index(points), np.array(self.shape)
        if convention == "centres":
            return (2 * index + 1) / shape - 1
        return 2 * index / np.maximum(shape - 1, 1) - 1

    def placed(self, convention: Convention = "centres") -> Document:
        """Where a field's coordinates lie: a point of the mesh's frame is scale * coordinate + shift.

        >>> Frame((10.0, 0.0, 0.0), 2.0, 4, (0, 1, 1), (4, 2, 2)).placed()
        {'scale': [2.0, 1.0, 1.0], 'shift': [10.0, 0.0, 0.0]}
        """
        shape = np.array(self.shape)
        middle = (np.maximum(shape, 1 if convention == "centres" else 2) - 1) / 2
        return {"scale": list(self.coordinate_units(convention)), "shift": self.from_index(middle).tolist()}

    def coordinate_units(self, convention: Convention = "centres") -> tuple[float, ...]:
        """The length in the mesh's frame that one unit of each of a field's coordinates spans."""
        spare = 0 if convention == "centres" else 1
        return tuple(max(1, size - spare) * self.half / self.resolution for size in self.shape)

    def counts(self, resolution: int | None) -> tuple[int, int, int]:
        """The samples of the kept box along each axis when the longest side of the cube has `resolution`."""
        if resolution is None:
            return self.shape
        if isinstance(resolution, bool) or not isinstance(resolution, int) or resolution < 2:
            raise SignalError(f"resolution must be a whole number of at least 2, got {resolution!r}")
        a, b, c = (max(1, round(size * resolution / self.resolution)) for size in self.shape)
        return a, b, c

    def from_samples(self, samples: np.ndarray, counts: tuple[int, int, int], convention: Convention) -> np.ndarray:
        """Positions (n, 3) in samples of a rendering with `counts` of the kept box, to the mesh's frame."""
        shape, count = np.array(self.shape), np.array(counts)
        if convention == "centres":
            return self.from_index((samples + 0.5) * shape / count - 0.5)
        return self.from_index(samples * (shape - 1) / np.maximum(count - 1, 1))

    def to_plain(self) -> Document:
        """JSON-able data for `from_plain`."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_plain(cls, data: Entries) -> Frame:
        """Rebuild a frame, refusing one that describes no grid."""
        record = Record(data)
        x, y, z = record.numbers("centre", 3)
        half, resolution = record.number("half"), record.whole("resolution", least=1, most=LARGEST_RESOLUTION)
        i, j, k = record.wholes("offset", range(3, 4))
        a, b, c = record.grid("shape", range(3, 4))
        if not half > 0:
            raise SignalError(f"a frame must have a finite centre and a positive size, got {(x, y, z)} and {half}")
        if not all(start >= 0 and 1 <= size <= resolution for start, size in zip((i, j, k), (a, b, c), strict=True)):
            raise SignalError(f"a frame must keep a box of its {resolution}^3 voxels, got {(a, b, c)} at {(i, j, k)}")
        return cls((x, y, z), half, resolution, (i, j, k), (a, b, c))
