"""PackedVolume: one bit per voxel, read slab by slab or at an index, never as floats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from staf.signals.errors import SignalError

# Voxels unpacked at once.
SLAB_VOXELS = 2**24


class PackedVolume:
    """Occupancy on a grid of `shape`, in C order, eight voxels to a byte, the first in the highest bit.

    512^3 voxels are 16 MiB, where floats would be 512.

    >>> volume = PackedVolume.pack(np.eye(3, dtype=bool)[None])
    >>> volume.shape, volume.bits.tolist(), volume.at(np.array([0, 1, 8])).tolist()
    ((1, 3, 3), [136, 128], [True, False, True])
    """

    def __init__(self, shape: tuple[int, int, int], bits: np.ndarray) -> None:
        expected = -(-math.prod(shape) // 8)
        if len(shape) != 3 or min(shape) < 1 or bits.dtype != np.uint8 or bits.shape != (expected,):
            raise SignalError(f"{shape} voxels need {expected} bytes, got {bits.dtype} {bits.shape}")
        self.shape = shape
        self.bits = bits

    @classmethod
    def pack(cls, array: np.ndarray) -> PackedVolume:
        """From a bool array (a, b, c)."""
        a, b, c = array.shape
        return cls((a, b, c), np.packbits(array))

    @classmethod
    def from_slabs(cls, shape: tuple[int, int, int], slabs: Iterable[np.ndarray]) -> PackedVolume:
        """From bool slabs (any, b, c) that follow each other along the first axis."""
        bits = np.zeros(-(-math.prod(shape) // 8), np.uint8)
        rest, written = np.zeros(0, bool), 0
        for slab in slabs:
            flat = np.concatenate([rest, slab.ravel()])
            whole = len(flat) // 8 * 8
            bits[written : written + whole // 8] = np.packbits(flat[:whole])
            written, rest = written + whole // 8, flat[whole:]
        if len(rest):
            bits[written] = np.packbits(rest)[0]
        return cls(shape, bits)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def slab(self, start: int, stop: int) -> np.ndarray:
        """Planes start to stop of the first axis as bool (stop - start, b, c)."""
        _, b, c = self.shape
        return self.flat(start * b * c, stop * b * c).reshape(stop - start, b, c)

    def flat(self, start: int, stop: int) -> np.ndarray:
        """Voxels start to stop in C order, as bool."""
        bytes_ = self.bits[start // 8 : -(-stop // 8)]
        skip = start % 8
        return np.unpackbits(bytes_)[skip : skip + stop - start].view(bool)

    def slabs(self, halo: int = 0) -> Iterator[tuple[int, int, np.ndarray]]:
        """(start, stop, planes) of about 16 million voxels, with up to `halo` planes more on either side."""
        a, b, c = self.shape
        thickness = max(1, SLAB_VOXELS // (b * c))
        for start in range(0, a, thickness):
            stop = min(a, start + thickness)
            yield start, stop, self.slab(max(0, start - halo), min(a, stop + halo))

    def at(self, index: np.ndarray) -> np.ndarray:
        """The voxels of a flat index (n,), as bool."""
        return (self.bits[index >> 3] >> (7 - (index & 7)).astype(np.uint8) & 1).view(bool)

    def array(self) -> np.ndarray:
        """Everything as bool (a, b, c): one byte per voxel."""
        return self.slab(0, self.shape[0])

    def count(self) -> int:
        """How many voxels are inside."""
        table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1)
        return int(np.bincount(self.bits, minlength=256) @ table)

    def cropped(self) -> tuple[PackedVolume, tuple[int, int, int]]:
        """The smallest box with every inside voxel, and the index of its first voxel."""
        seen = [np.zeros(size, bool) for size in self.shape]
        for start, stop, planes in self.slabs():
            seen[0][start:stop] = planes.any((1, 2))
            seen[1] |= planes.any((0, 2))
            seen[2] |= planes.any((0, 1))
        if not seen[0].any():
            raise SignalError("no voxel is inside")
        spans = [(int(np.argmax(axis)), len(axis) - int(np.argmax(axis[::-1]))) for axis in seen]
        (a0, a1), (b0, b1), (c0, c1) = spans
        kept = (self.slab(a, a + 1)[:, b0:b1, c0:c1] for a in range(a0, a1))
        return PackedVolume.from_slabs((a1 - a0, b1 - b0, c1 - c0), kept), (a0, b0, c0)

    def pooled(self, longest: int) -> np.ndarray:
        """The share of inside voxels in cubes of k voxels a side, float32, with no side over `longest`."""
        k = -(-max(self.shape) // longest)
        a, b, c = (-(-size // k) for size in self.shape)
        sums = np.zeros((a, b, c), np.float32)
        for i in range(a):
            planes = self.slab(i * k, min((i + 1) * k, self.shape[0])).astype(np.float32).sum(0)
            padded = np.pad(planes, [(0, b * k - self.shape[1]), (0, c * k - self.shape[2])])
            sums[i] = padded.reshape(b, k, c, k).sum((1, 3))
        return sums / np.float32(k**3)

    def near_surface(self, band: int) -> np.ndarray:
        """Flat indices of voxels that have a voxel of the other kind at most `band` away along every axis.

        What lies outside the grid counts as outside the shape.
        """
        if band < 1:
            raise ValueError(f"band must be at least 1 voxel, got {band}")
        _, b, c = self.shape
        found = []
        for start, stop, planes in self.slabs(halo=band):
            before, after = start - max(0, start - band), min(self.shape[0], stop + band) - stop
            padding = [(band - before, band - after), (band, band), (band, band)]
            padded = np.pad(planes, padding)
            near = _window(padded, band, np.logical_or) & ~_window(padded, band, np.logical_and)
            found.append(np.flatnonzero(near.ravel()) + start * b * c)
        return np.concatenate(found)


def _window(array: np.ndarray, band: int, combine: np.ufunc) -> np.ndarray:
    """`combine` over windows of 2 band + 1 along every axis; each axis loses 2 band."""
    for axis in range(3):
        length = array.shape[axis] - 2 * band
        moved = np.moveaxis(array, axis, 0)
        combined = moved[:length].copy()
        for k in range(1, 2 * band + 1):
            combine(combined, moved[k : k + length], out=combined)
        array = np.moveaxis(combined, 0, axis)
    return array
