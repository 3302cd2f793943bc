"""STL: triangles one by one, each with its own three corners, in binary or text."""

from __future__ import annotations

import re

import numpy as np

from staf.kinds.shape.polygons import Parsed, positions_of, unreadable

HEAD = 84
FACE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
VERTEX = re.compile(rb"(?:vertex|VERTEX|Vertex)[ \t]+([^\r\n]*)")
FACET = re.compile(rb"(?:facet|FACET|Facet)[ \t]+[nN]")
END = re.compile(rb"endsolid", re.IGNORECASE)


def parse_stl(data: bytes) -> Parsed:
    """The triangles of an STL file: binary if its length is that of the faces it announces, else text."""
    announced = int.from_bytes(data[HEAD - 4 : HEAD], "little")
    needed = HEAD + announced * FACE.itemsize
    text = data[:256].lstrip()[:5].lower() == b"solid"
    if len(data) >= HEAD and (len(data) == needed or (not text and len(data) > needed)):
        faces = np.frombuffer(data, FACE, announced, HEAD)
        behind = len(data) - needed
        notes = (f"{behind:,} bytes behind its last face are left out",) if behind else ()
        return _of_corners(faces["corners"].astype(np.float64).reshape(-1, 3), notes)
    if not text:
        there = max(0, len(data) - HEAD) // FACE.itemsize
        raise unreadable("STL", f"{there:,} of {announced:,} faces are there")
    return _text(data)


def _text(data: bytes) -> Parsed:
    if not END.search(data):
        raise unreadable("STL", "its last line, endsolid, is missing")
    found = (match.group(1).decode("latin-1") for match in VERTEX.finditer(data))
    facets = sum(1 for _ in FACET.finditer(data))
    corners = positions_of(found, "STL")
    if len(corners) != 3 * facets:
        raise unreadable("STL", f"it has {len(corners):,} corners, and {3 * facets:,} are needed for {facets:,} faces")
    return _of_corners(corners)


def _of_corners(corners: np.ndarray, notes: tuple[str, ...] = ()) -> Parsed:
    return Parsed(corners, np.arange(len(corners)).reshape(-1, 3), notes)
