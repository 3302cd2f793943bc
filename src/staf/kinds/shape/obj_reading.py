"""Wavefront OBJ: lines of positions and polygons; materials, textures, normals and curves are left alone."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np

from staf.kinds.shape.polygons import BATCH, Parsed, positions_of, triangles, unreadable

VERTEX = re.compile(rb"^[ \t]*v[ \t]+([^\r\n#]*)", re.MULTILINE)
FACE = re.compile(rb"^[ \t]*f[ \t]+([^\r\n#]*)", re.MULTILINE)
# The texture and normal of a corner, which follow its position.
BEHIND = re.compile(rb"/[-+0-9/]*")
CONTINUED = re.compile(rb"\\\r?\n")


def parse_obj(data: bytes) -> Parsed:
    """The polygons of all objects and groups in the file together.

    >>> parse_obj(b"v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1/1/1 2/2/1 3/3/1 4/4/1\\nf -4 -3 -2\\n").faces.tolist()
    [[0, 1, 2], [0, 2, 3], [0, 1, 2]]
    """
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if b"\\" in data:
        data = CONTINUED.sub(b" ", data)
    vertices = positions_of((match.group(1).decode("latin-1") for match in VERTEX.finditer(data)), "OBJ")
    named, sizes = _corners(data)
    if (named < 0).any():
        # Counted back from the last vertex above the face.
        above = np.fromiter((match.start() for match in VERTEX.finditer(data)), np.int64)
        at = np.fromiter((match.start() for match in FACE.finditer(data)), np.int64)
        named = np.where(named < 0, named + np.repeat(np.searchsorted(above, at), sizes) + 1, named)
    if len(named) and not (named >= 1).all():
        raise unreadable("OBJ", f"a face names vertex {int(named.min())}, and they are counted from 1")
    return Parsed(vertices, triangles(named - 1, sizes))


def _corners(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The corners of all polygons as the file names them, and how many each has."""
    found = (BEHIND.sub(b"", match.group(1)).split() for match in FACE.finditer(data))
    named, sizes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    # In batches: words are much larger than the numbers they are.
    while batch := list(islice(found, BATCH)):
        sizes.append(np.array([len(words) for words in batch]))
        try:
            named.append(np.array([int(word) for words in batch for word in words], np.int64))
        except (ValueError, OverflowError) as error:
            raise unreadable("OBJ", f"a face is no list of whole numbers ({error})") from error
    return np.concatenate(named), np.concatenate(sizes)
