"""OFF: a text of counts, positions and polygons."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice

from staf.kinds.shape.polygons import Parsed, polygons_of, positions_of, unreadable


def parse_off(data: bytes) -> Parsed:
    """The mesh of an OFF or COFF file, as many vertices and faces as it announces.

    >>> parse_off(b"OFF # a triangle\\n3 1 0\\n0 0 0\\n1 0 0\\n0 1 0\\n3 0 1 2\\n").faces.tolist()
    [[0, 1, 2]]
    """
    lines = _lines(data)
    words = next(lines, "").split()
    if not words or words[0] not in ("OFF", "COFF"):
        raise unreadable("OFF", "it does not begin with OFF")
    # Counts may stand on the first line too.
    counts = words[1:] or next(lines, "").split()
    try:
        vertices, faces = (int(word) for word in counts[:2])
    except ValueError as error:
        raise unreadable("OFF", f"the numbers of vertices and faces are missing: {' '.join(counts)[:40]!r}") from error
    # A vertex takes at least the six letters of "0 0 0" and its end of line, and a face as many.
    if vertices < 0 or faces < 0 or 6 * (vertices + faces) > len(data) + 1:
        raise unreadable("OFF", f"it announces {vertices:,} vertices and {faces:,} faces in {len(data):,} bytes")
    positions = positions_of(islice(lines, vertices), "OFF")
    if len(positions) < vertices:
        raise unreadable("OFF", f"{len(positions):,} of {vertices:,} vertices are there")
    return Parsed(positions, polygons_of(lines, faces, "OFF"))


def _lines(data: bytes) -> Iterator[str]:
    """Lines without comments and without those that are empty."""
    for line in io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"):
        kept = line.partition("#")[0]
        if kept.strip():
            yield kept
