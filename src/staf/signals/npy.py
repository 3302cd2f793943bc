"""Files of numpy: their header, checked before anything is read, and arrays written band by band."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from staf.signals.errors import SignalError


class Header(NamedTuple):
    """What a file announces: the shape and type of its array."""

    shape: tuple[int, ...]
    dtype: np.dtype


def read_header(file: IO[bytes]) -> Header:
    """The header at the start of an open NPY file; whatever numpy raises on a damaged one comes through."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise SignalError("it holds pickled Python objects, which are never loaded; save numbers instead")
    return Header(tuple(int(size) for size in shape), dtype)


def announced_shape(head: bytes) -> tuple[int, ...] | None:
    """The shape that the first bytes of an NPY file announce; None if they are damaged or not enough.

    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.zeros((4, 5)))
    >>> announced_shape(buffer.getvalue()[:256])
    (4, 5)
    """
    try:
        return read_header(io.BytesIO(head)).shape
    except Exception:
        # numpy raises all sorts on damaged headers, a tokenizer's error for one.
        return None


def map_array(path: Path) -> np.ndarray:
    """The array of an NPY file, not yet read: pages are loaded when they are used. Pickled objects are refused."""
    with path.open("rb") as file:
        read_header(file)
    return np.load(path, mmap_mode="r", allow_pickle=False)


def write_bands(path: Path, bands: Iterable[np.ndarray], shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Writes bands along the first axis, which make up `shape`, into a new NPY file."""
    descr = np.lib.format.dtype_to_descr(dtype)
    with path.open("xb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
        for band in bands:
            file.write(np.ascontiguousarray(band).tobytes())
