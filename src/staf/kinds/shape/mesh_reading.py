"""Meshes from PLY, OBJ, STL, GLB and OFF files: geometry only, and nothing that a file refers to is followed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from staf.kinds.limits import MEBIBYTE
from staf.kinds.shape.glb_reading import parse_glb
from staf.kinds.shape.mesh import Mesh, checked_mesh
from staf.kinds.shape.obj_reading import parse_obj
from staf.kinds.shape.off_reading import parse_off
from staf.kinds.shape.ply_reading import parse_ply
from staf.kinds.shape.polygons import Parsed
from staf.kinds.shape.stl_reading import parse_stl
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.shape.signal import Shape

PARSERS: dict[str, Callable[[bytes], Parsed]] = {
    "ply": parse_ply,
    "obj": parse_obj,
    "stl": parse_stl,
    "glb": parse_glb,
    "off": parse_off,
}
# A hundred million triangles, in the usual formats.
LARGEST_FILE = 4096 * MEBIBYTE
TEXTS = ("obj", "off")
BLOCK = 16 * MEBIBYTE


def read_ply(path: Path, limit: int) -> Shape:
    """Reads PLY, text or binary."""
    return _shape(path, "ply", limit)


def read_obj(path: Path, limit: int) -> Shape:
    """Reads Wavefront OBJ without its materials."""
    return _shape(path, "obj", limit)


def read_stl(path: Path, limit: int) -> Shape:
    """Reads STL, text or binary."""
    return _shape(path, "stl", limit)


def read_glb(path: Path, limit: int) -> Shape:
    """Reads binary glTF: every mesh of the scene where the scene puts it, without textures."""
    return _shape(path, "glb", limit)


def read_off(path: Path, limit: int) -> Shape:
    """Reads OFF."""
    return _shape(path, "off", limit)


def _shape(path: Path, format: str, limit: int) -> Shape:
    from staf.kinds.shape.signal import Shape

    mesh, notes = parse_mesh(_content(path, format), format)
    if len(mesh.faces) > limit:
        raise SignalError(f"it has {len(mesh.faces):,} faces, more than the limit of {limit:,}")
    return Shape(mesh, notes=notes)


def _content(path: Path, format: str) -> bytes:
    """The bytes of the file, if they are not too many, and those of a text if it is to be one."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_FILE:
            raise SignalError(f"it has {size:,} bytes, and at most {LARGEST_FILE:,} are read")
        blocks = []
        while block := file.read(BLOCK):
            if format in TEXTS and b"\0" in block:
                raise SignalError(f"it is no readable {format.upper()} file, which is a text: it holds zero bytes")
            blocks.append(block)
    return b"".join(blocks)


def parse_mesh(data: bytes, format: str) -> tuple[Mesh, list[str]]:
    """The mesh in the bytes of a file of `format` (ply, obj, stl, glb, off), and notes about it.

    >>> parse_mesh(b"OFF\\n3 1 0\\n0 0 0\\n1 0 0\\n0 1 0\\n3 0 1 2\\n", "off")[0].faces.tolist()
    [[0, 1, 2]]
    """
    try:
        vertices, faces, notes = PARSERS[format](data)
    except (SignalError, MemoryError):
        raise
    except Exception as error:
        # Damage takes every form there is; the user needs one sentence.
        reason = f"{type(error).__name__}: {error}"
        raise SignalError(f"it is no readable {format.upper()} file ({reason})") from error
    if len(vertices) and not len(faces):
        raise SignalError(f"it holds {len(vertices):,} points and no faces: a point cloud encloses nothing")
    if not len(vertices) and not len(faces):
        raise SignalError("the mesh is empty: no vertices and faces were found in it")
    mesh, said = checked_mesh(vertices, faces)
    return mesh, [*notes, *said]
