"""Frames that come one after another, gathered in memory, or in a temporary file where they are many."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

import numpy as np

from staf.signals.errors import SignalError

# Bytes of frames that are kept in memory; more go to a temporary file, which is mapped and not read.
IN_MEMORY = 2**28


def gathered(frames: Iterable[np.ndarray], most_pixels: int | None = None, in_memory: int = IN_MEMORY) -> np.ndarray:
    """Frames (h, w, c) of one size and type as an array (t, h, w, c).

    Beyond `in_memory` bytes the array is mapped from a temporary file, which the system removes with it.

    >>> gathered(np.full((2, 3, 1), n, np.uint8) for n in range(4)).shape
    (4, 2, 3, 1)
    """
    kept: list[np.ndarray] = []
    file = None
    count = size = pixels = 0
    first: np.ndarray | None = None
    for frame in frames:
        if first is None:
            first = frame
        elif frame.shape != first.shape:
            raise SignalError(
                f"frames must have the same size: the first is {_size(first)}, and frame {count} is {_size(frame)}"
            )
        count, size = count + 1, size + frame.nbytes
        pixels += frame.shape[0] * frame.shape[1]
        if most_pixels is not None and pixels > most_pixels:
            raise SignalError(too_many(f"its first {count} frames of {_size(frame)} have", pixels, most_pixels))
        if file is None and size > in_memory:
            file = tempfile.TemporaryFile(prefix="staf-frames-")  # noqa: SIM115
            for earlier in kept:
                file.write(earlier.tobytes())
            kept = []
        if file is None:
            kept.append(frame)
        else:
            file.write(np.ascontiguousarray(frame).tobytes())
    if first is None:
        raise SignalError("it has no frames")
    if file is None:
        return np.stack(kept)
    file.flush()
    # The map holds the file open, so that it lives as long as the array.
    return np.memmap(file, first.dtype, "r+", shape=(count, *first.shape))


def too_many(what: str, pixels: int, most: int) -> str:
    """The message for a video of too many pixels."""
    return (
        f"{what} {pixels:,} pixels, more than max_pixels={most}: take a part of it (staf fit: --start, --stop), fewer "
        "frames (--every) or smaller ones (--size), or pass a larger max_pixels (--max-pixels)"
    )


def _size(frame: np.ndarray) -> str:
    return f"{frame.shape[1]}x{frame.shape[0]}"
