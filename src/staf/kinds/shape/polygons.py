"""Faces of any number of corners, as files list them, into triangles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from staf.signals.errors import SignalError

# Lines that are read at once.
BATCH = 1 << 16


class Parsed(NamedTuple):
    """What a file holds: positions (n, 3), triangles (m, 3) of indices into them, and notes for the user."""

    vertices: np.ndarray
    faces: np.ndarray
    notes: tuple[str, ...] = ()


def unreadable(format: str, what: str) -> SignalError:
    """The error for a mesh file that is not whole, and `what` shows it."""
    return SignalError(f"it is no readable {format} file, but damaged or cut short: {what}")


def triangles(corners: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Polygons as fans of triangles (m, 3): `corners` lists the corners of all, `sizes` how many each has.

    Polygons of fewer than three corners have no area and give none.

    >>> triangles(np.array([0, 1, 2, 3, 4, 5, 6]), np.array([4, 3])).tolist()
    [[0, 1, 2], [0, 2, 3], [4, 5, 6]]
    """
    corners, sizes = corners.astype(np.int64, copy=False), sizes.astype(np.int64, copy=False)
    if len(sizes) and (sizes == 3).all():
        return corners.reshape(-1, 3)
    pieces = np.maximum(sizes - 2, 0)
    first = np.repeat(np.cumsum(sizes) - sizes, pieces)
    step = np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.stack([corners[first], corners[first + step + 1], corners[first + step + 2]], axis=1)


def positions_of(lines: Iterator[str], format: str) -> np.ndarray:
    """The first three numbers of every line, float64 (n, 3)."""
    first = next(lines, None)
    if first is None:
        return np.empty((0, 3))
    count = 0

    def counted() -> Iterator[str]:
        nonlocal count
        for line in chain([first], lines):
            count += 1
            yield line

    try:
        rows = np.loadtxt(counted(), np.float64, comments=None, usecols=range(3), ndmin=2)
    except (ValueError, IndexError) as error:
        raise unreadable(format, f"its vertices are not three numbers each ({error})") from error
    # numpy passes over lines that are empty.
    if len(rows) != count:
        raise unreadable(format, f"{count - len(rows):,} of {count:,} vertices have no numbers")
    return rows


def polygons_of(lines: Iterator[str], count: int, format: str, before: int = 0) -> np.ndarray:
    """The triangles of the next `count` lines: after `before` other numbers, how many corners, and the corners.

    Numbers behind the corners, such as colours, are left alone.
    """
    parts, found = [np.empty((0, 3), np.int64)], 0
    # In batches: lines are much larger than the numbers in them.
    while batch := list(islice(lines, min(BATCH, count - found))):
        found += len(batch)
        parts.append(_of_batch(batch, format, before))
    if found < count:
        raise unreadable(format, f"{found:,} of {count:,} faces are there")
    return np.concatenate(parts)


def _of_batch(lines: list[str], format: str, before: int) -> np.ndarray:
    corners: np.ndarray | None = None
    try:
        table = np.loadtxt(lines, np.float64, comments=None, ndmin=2)[:, before:]
        size = table[0, 0] if table.size else 0
        if len(table) == len(lines) and 1 <= size < table.shape[1] and (table[:, 0] == size).all():
            corners, sizes = table[:, 1 : 1 + int(size)].ravel(), np.full(len(lines), int(size))
    except (ValueError, IndexError, OverflowError):
        # Rows of different lengths, or no numbers: told apart below.
        pass
    if corners is None:
        corners, sizes = _ragged(lines, before, format)
    return triangles(whole_numbers(corners, format), sizes)


def _ragged(lines: Iterable[str], before: int, format: str) -> tuple[np.ndarray, np.ndarray]:
    corners: list[int] = []
    sizes: list[int] = []
    for line in lines:
        words = line.split()[before:]
        try:
            size = int(words[0])
            own = [int(word) for word in words[1 : 1 + size]]
        except (ValueError, IndexError) as error:
            raise unreadable(format, f"a face is no list of whole numbers: {line.strip()[:40]!r}") from error
        if size < 0 or len(own) < size:
            raise unreadable(format, f"a face has {len(own)} of {size} corners: {line.strip()[:40]!r}")
        corners += own
        sizes.append(size)
    try:
        return np.array(corners, np.int64), np.array(sizes, np.int64)
    except OverflowError as error:
        raise unreadable(format, "a face names a vertex beyond all numbers") from error


def whole_numbers(values: np.ndarray, format: str) -> np.ndarray:
    """Indices read as floats, as int64."""
    if values.dtype.kind == "f":
        if values.size and not (np.abs(values) < 2**53).all():
            raise unreadable(format, "a face names a vertex beyond all numbers")
        whole = values.astype(np.int64)
        if (whole != values).any():
            raise unreadable(format, "a face names a vertex by no whole number")
        return whole
    return values.astype(np.int64, copy=False)
