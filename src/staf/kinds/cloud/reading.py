"""Point clouds from PLY and XYZ files: positions, and normals where there are some."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from staf.kinds.formats import HEAD_BYTES
from staf.kinds.limits import MEBIBYTE
from staf.kinds.shape.ply_reading import Element, parse_header
from staf.kinds.shape.polygons import unreadable
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.cloud.signal import PointCloud

POSITION, NORMAL = ("x", "y", "z"), ("nx", "ny", "nz")
LARGEST_FILE = 4096 * MEBIBYTE


def announces_cloud(head: bytes) -> bool:
    """Whether the head of a PLY file announces points and no faces.

    >>> announces_cloud(b"ply\\nformat ascii 1.0\\nelement vertex 3\\nproperty float x\\nend_header\\n")
    True
    >>> announces_cloud(b"ply\\nformat ascii 1.0\\nelement vertex 3\\nelement face 1\\nend_header\\n")
    False
    """
    words = [line.split() for line in head.partition(b"end_header")[0].splitlines()]
    counts = {line[1]: line[2] for line in words if line[:1] == [b"element"] and len(line) == 3}
    return b"end_header" in head and b"vertex" in counts and counts.get(b"face", b"0") == b"0"


def announces_mesh(file: BinaryIO) -> bool:
    """Whether it may have faces; a damaged header is a mesh's, whose reader says what is wrong."""
    return not announces_cloud(file.read(HEAD_BYTES))


def read_ply(path: Path, limit: int) -> PointCloud:
    """Reads the vertices of a PLY file, text or binary, with their normals nx, ny, nz."""
    from staf.kinds.cloud.signal import PointCloud

    return PointCloud(*_within(parse_ply_points(_content(path)), limit))


def read_xyz(path: Path, limit: int) -> PointCloud:
    """Reads a text with a point in each line: x y z, or x y z nx ny nz."""
    from staf.kinds.cloud.signal import PointCloud

    return PointCloud(*_within(parse_xyz(_content(path)), limit))


def parse_xyz(data: bytes) -> tuple[np.ndarray, np.ndarray | None]:
    """Positions (n, 3), and normals (n, 3) where each line has six numbers.

    >>> parse_xyz(b"0 0 1 0 0 1\\n1 0 0 1 0 0\\n")[1].tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if not any(line.strip() and not line.lstrip().startswith(b"#") for line in io.BytesIO(data)):
        raise SignalError("it has no points")
    try:
        rows = np.loadtxt(io.BytesIO(data), dtype=np.float64, comments="#", ndmin=2)
    except ValueError as error:
        raise SignalError(f"it is no readable XYZ file: {error}") from error
    if rows.shape[1] not in (3, 6):
        raise SignalError(f"lines must have 3 numbers, or 6 with normals, got {rows.shape[1]}")
    return rows[:, :3], rows[:, 3:] if rows.shape[1] == 6 else None


def parse_ply_points(data: bytes) -> tuple[np.ndarray, np.ndarray | None]:
    """Positions (n, 3), and normals (n, 3) where there are some, of the vertices in a PLY file."""
    order, elements, start = parse_header(data)
    for element in elements:
        if element.name == "vertex":
            break
        if element.corners() is not None:
            raise unreadable("PLY", f"its vertices come after lists of {element.name}")
        start = _behind(data, element, order, start)
    else:
        raise SignalError("it has no points")
    if len(element.scalar(POSITION)) < 3 or element.corners() is not None:
        raise unreadable("PLY", "its vertices have no x, y and z, or have lists")
    if not element.count:
        raise SignalError("it has no points")
    rows = _text_rows(data[start:], element) if not order else _binary_rows(data, element, order, start)
    normals = element.scalar(NORMAL)
    return rows[:, element.scalar(POSITION)], rows[:, normals] if len(normals) == 3 else None


def _behind(data: bytes, element: Element, order: str, start: int) -> int:
    """Where the values of an element without lists end."""
    if order:
        return start + element.count * _row_type(element, order).itemsize
    for _ in range(element.count):
        start = data.find(b"\n", start) + 1 or len(data)
    return start


def _row_type(element: Element, order: str) -> np.dtype:
    return np.dtype([(f"{n}", order + own.type) for n, own in enumerate(element.properties)])


def _binary_rows(data: bytes, element: Element, order: str, start: int) -> np.ndarray:
    kind = _row_type(element, order)
    if start + element.count * kind.itemsize > len(data):
        raise unreadable("PLY", f"{max(0, len(data) - start) // kind.itemsize:,} of {element.count:,} points are there")
    values = np.frombuffer(data, kind, element.count, start)
    return np.stack([values[name] for name in kind.names or ()], 1).astype(np.float64)


def _text_rows(data: bytes, element: Element) -> np.ndarray:
    lines = itertools.islice((line for line in io.BytesIO(data) if not line.isspace()), element.count)
    try:
        rows = np.loadtxt(lines, dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise unreadable("PLY", str(error)) from error
    if rows.shape != (element.count, len(element.properties)):
        raise unreadable("PLY", f"{len(rows):,} of {element.count:,} points are there")
    return rows


def _content(path: Path) -> bytes:
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise SignalError(f"it has {size:,} bytes, and at most {LARGEST_FILE:,} are read")
    return path.read_bytes()


def _within(read: tuple[np.ndarray, np.ndarray | None], limit: int) -> tuple[np.ndarray, np.ndarray | None]:
    if len(read[0]) > limit:
        raise SignalError(f"it has {len(read[0]):,} points, more than the limit of {limit:,}")
    return read
