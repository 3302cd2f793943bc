"""Files of numpy: their header, checked before anything is read, and arrays written band by band."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from staf.signals.errors import SignalError, damaged

LONGEST_HEADER = 10_000


class Header(NamedTuple):
    """What a file announces: the shape and type of its array."""

    shape: tuple[int, ...]
    dtype: np.dtype


def read_header(file: IO[bytes]) -> Header:
    """The header at the start of an open NPY file; whatever numpy raises on a damaged one comes through."""
    version = np.lib.format.read_magic(file)
    wide = version != (1, 0)
    # numpy would read a longer header into memory, to find it too long then.
    length = int.from_bytes(head := file.read(4 if wide else 2), "little")
    if length > LONGEST_HEADER:
        raise damaged(f"its NPY header has {length:,} bytes, more than {LONGEST_HEADER:,}")
    rest = io.BytesIO(head + file.read(length))
    shape, _, dtype = (np.lib.format.read_array_header_2_0 if wide else np.lib.format.read_array_header_1_0)(rest)
    if min(shape, default=0) < 0:
        raise damaged(f"its array has shape {shape}")
    if dtype.hasobject:
        raise SignalError("it holds pickled Python objects, which are never loaded; save numbers instead")
    return Header(tuple(int(size) for size in shape), dtype)


def announced(head: bytes) -> Header | None:
    """What the first bytes of an NPY file announce; None if they are damaged or not enough.

    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.zeros((4, 5)))
    >>> announced(buffer.getvalue()[:256])
    Header(shape=(4, 5), dtype=dtype('float64'))
    """
    try:
        return read_header(io.BytesIO(head))
    except Exception:
        # numpy raises all sorts on damaged headers, a tokenizer's error for one.
        return None


def map_array(path: Path) -> np.ndarray:
    """The array of an NPY file, not yet read: pages are loaded when they are used. Pickled objects are refused."""
    check_whole(path)
    return np.load(path, mmap_mode="r", allow_pickle=False)


def check_whole(path: Path) -> Header:
    """The header of an NPY file that holds all of its array."""
    with path.open("rb") as file:
        header = read_header(file)
        there = os.fstat(file.fileno()).st_size - file.tell()
    needed = math.prod(header.shape) * header.dtype.itemsize
    if there < needed:
        raise damaged(f"{there:,} of {needed:,} bytes of its array are there")
    return header


def write_bands(path: Path, bands: Iterable[np.ndarray], shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Writes bands along the first axis, which make up `shape`, into a new NPY file."""
    descr = np.lib.format.dtype_to_descr(dtype)
    with path.open("xb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
        for band in bands:
            file.write(np.ascontiguousarray(band).tobytes())
