"""A pool of tiles on a device, of an image that does not fit there; tiles are replaced while training continues."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
import torch
from torch import Tensor

from staf.training.worker import Worker

SIDE = 1024


class TilePool:
    """As many tiles of an image (h, w, c) as `most_bytes` hold, as integers on `device`.

    Tiles are equally large, about `side` pixels a side, and cover the image with overlaps of at most one pixel. They
    come in a random order from `seed`, all of them before any comes again. `advance(points)` says that so many points
    were drawn: a tile is replaced for every tile's worth of points, the one that has been there longest.

    >>> image = np.arange(30 * 40, dtype=np.uint16).reshape(30, 40, 1)
    >>> pool = TilePool(image, 400, "cpu", side=10, seed=0)
    >>> pool.tile, pool.slots, pool.points, len(pool.origins)
    ((10, 10), 2, 200, 12)
    """

    def __init__(
        self,
        pixels: np.ndarray,
        most_bytes: int,
        device: torch.device | str,
        *,
        side: int = SIDE,
        seed: int = 0,
    ) -> None:
        self.pixels = pixels
        height, width, channels = pixels.shape
        rows, columns = (_starts(length, side) for length in (height, width))
        self.tile = (-(-height // len(rows)), -(-width // len(columns)))
        self.origins = [(int(row), int(column)) for row in rows for column in columns]
        one = self.tile[0] * self.tile[1] * channels * pixels.itemsize
        self.slots = min(len(self.origins), most_bytes // one)
        if self.slots < 1:
            raise ValueError(f"most_bytes must hold one tile of {one:,} bytes, got {most_bytes:,}")
        self._order = np.random.default_rng(seed)
        self._queue: list[int] = []
        self._oldest, self._debt = 0, 0
        # The next tile is read while the device works.
        self._reader = Worker("tiles")
        self._next: Future[tuple[np.ndarray, tuple[int, int]]] = self._read()
        shape = (self.slots, *self.tile, channels)
        stored = as_signed(np.empty((0,), pixels.dtype)).dtype
        self.values = torch.empty(shape, device=device, dtype=getattr(torch, stored.name))
        self.corners = torch.zeros(self.slots, 2, device=device, dtype=torch.int64)
        for _ in range(self.slots):
            self._replace()

    @property
    def points(self) -> int:
        """How many pixels the pool holds."""
        return self.slots * self.tile[0] * self.tile[1]

    def advance(self, points: int) -> None:
        """Replace tiles for `points` points drawn; a pool that holds the whole image stays as it is."""
        if self.slots == len(self.origins):
            return
        self._debt += points
        one = self.tile[0] * self.tile[1]
        for _ in range(min(self.slots, self._debt // one)):
            self._replace()
        self._debt %= one

    def pick(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows (n,), columns (n,) in the image and stored samples (n, c) of a flat index (n,) into the pool."""
        height, width = self.tile
        slot, inside = index // (height * width), index % (height * width)
        corner = self.corners[slot]
        samples = self.values.view(-1, self.values.shape[-1])[index]
        return corner[:, 0] + inside // width, corner[:, 1] + inside % width, samples

    def _read(self) -> Future[tuple[np.ndarray, tuple[int, int]]]:
        if not self._queue:
            self._queue = self._order.permutation(len(self.origins)).tolist()
        row, column = self.origins[self._queue.pop()]
        part = (slice(row, row + self.tile[0]), slice(column, column + self.tile[1]))
        return self._reader.submit(lambda: (as_signed(np.ascontiguousarray(self.pixels[part])), (row, column)))

    def _replace(self) -> None:
        tile, corner = self._next.result()
        self._next = self._read()
        # A tile that is a view of the image would be read-only.
        self.values[self._oldest].copy_(torch.from_numpy(tile if tile.flags.writeable else tile.copy()))
        self.corners[self._oldest] = torch.tensor(corner)
        self._oldest = (self._oldest + 1) % self.slots


def as_signed(samples: np.ndarray) -> np.ndarray:
    """Samples of a type that torch indexes on every device: uint16 is seen as int16, the others stay.

    >>> as_signed(np.array([65535], np.uint16)).tolist()
    [-1]
    """
    return samples.view(np.int16) if samples.dtype == np.uint16 else samples


def as_values(samples: Tensor, dtype: np.dtype) -> Tensor:
    """float32 values in [0, 1] of stored samples of an image of `dtype`; floating point samples as they are.

    >>> as_values(torch.tensor([-1, 0], dtype=torch.int16), np.dtype(np.uint16)).tolist()
    [1.0, 0.0]
    """
    if dtype.kind == "f":
        return samples.float()
    if dtype == np.uint16:
        samples = samples.int() & 0xFFFF
    return samples.float() / float(np.iinfo(dtype).max)


def _starts(length: int, side: int) -> np.ndarray:
    """Where equal tiles of about `side` begin, so that they cover `length` from end to end."""
    count = max(1, -(-length // side))
    size = -(-length // count)
    return np.rint(np.linspace(0, length - size, count)).astype(np.int64)
