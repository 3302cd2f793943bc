"""Grids from NPY and NPZ files, and into NPY files."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from staf.kinds.formats import HEAD_BYTES
from staf.kinds.grid.signal import Grid
from staf.kinds.limits import check_ratio
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError, damage_named
from staf.signals.npy import map_array, read_header, write_bands

SUFFIX = ".npy"
# No deflated data unfolds to more times its bytes.
DEFLATE_RATIO = 1032


def read_npy(path: Path, limit: int) -> Grid:
    """An array saved by numpy, mapped and not read; pickled objects are refused."""
    with damage_named("NPY"):
        array = map_array(path)
    check_size(array.shape, limit)
    return Grid(array)


def read_npz(path: Path, limit: int) -> Grid:
    """The one array of an archive saved by numpy; its header is checked before it is unpacked."""
    with damage_named("NPZ"), zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(SUFFIX)]
        if len(names) != 1:
            listed = ", ".join(name.removesuffix(SUFFIX) for name in names)
            raise SignalError(f"it holds {len(names)} arrays ({listed}): save the one to fit with np.save")
        with archive.open(names[0]) as file:
            shape, dtype = read_header(file)
            check_size(shape, limit)
            decoded = math.prod(shape) * dtype.itemsize
            check_ratio(decoded, path.stat().st_size, DEFLATE_RATIO, f"{'x'.join(map(str, shape))} samples")
        with archive.open(names[0]) as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
    return Grid(array)


def announces_npz(file: BinaryIO) -> bool:
    """Whether a ZIP archive is one of numpy's: its first entry is an NPY file."""
    head = file.read(HEAD_BYTES)
    length = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + length].endswith(SUFFIX.encode())


def check_size(shape: tuple[int, ...], limit: int) -> None:
    """Refuses arrays without samples and those of more than `limit`."""
    size = "x".join(str(n) for n in shape)
    if 0 in shape:
        raise SignalError(f"a grid must have at least one sample, got shape {shape}")
    if math.prod(shape) > limit:
        raise SignalError(
            f"its header announces {size} samples, more than max_pixels={limit}; if you trust the file, pass a larger "
            "max_pixels (staf fit: --max-pixels)"
        )


def write_npy(
    path: str | os.PathLike[str], bands: Iterable[np.ndarray], shape: tuple[int, ...], dtype: np.dtype
) -> Path:
    """Writes bands along the first axis, which make up `shape`, whole or not at all."""
    if Path(path).suffix.lower() != SUFFIX:
        raise SignalError(f"a grid is saved as {SUFFIX}; got {str(path)!r}")
    with atomic_path(path) as temporary:
        write_bands(temporary, bands, shape, dtype)
    return Path(path)
