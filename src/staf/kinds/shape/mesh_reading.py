"""Meshes from PLY, OBJ, STL, GLB and OFF files: geometry only, and nothing that a file refers to is followed."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from staf._documents import Document
from staf._extras import need
from staf.kinds.shape.mesh import Mesh, checked_mesh
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.shape.signal import Shape

# Corners of faces that a scene may have, once every mesh stands in every place it is given.
MAX_CORNERS = 300_000_000


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

    mesh, notes = parse_mesh(path.read_bytes(), format)
    if len(mesh.faces) > limit:
        raise SignalError(f"it has {len(mesh.faces):,} faces, more than the limit of {limit:,}")
    return Shape(mesh, notes=notes)


def parse_mesh(data: bytes, format: str) -> tuple[Mesh, list[str]]:
    """The mesh in the bytes of a file of `format` (ply, obj, stl, glb, off), and notes about it.

    >>> parse_mesh(b"OFF\\n3 1 0\\n0 0 0\\n1 0 0\\n0 1 0\\n3 0 1 2\\n", "off")[0].faces.tolist()
    [[0, 1, 2]]
    """
    if format == "glb":
        _check_glb(data)
    trimesh = need("shape", "trimesh")

    class Refusing(trimesh.resolvers.Resolver):  # type: ignore[misc]
        """Answers every reference to another file or address with a refusal."""

        def __init__(self) -> None:
            self.asked: list[str] = []

        def get(self, key: str) -> bytes:
            self.asked.append(str(key))
            raise SignalError(f"it refers to {str(key)!r}, and references to other files are not followed")

        def write(self, name: str, data: Any) -> None:
            raise SignalError(f"reading writes nothing, got {name!r}")

        def namespaced(self, namespace: str) -> Refusing:
            return self

        def keys(self) -> list[str]:
            return []

    try:
        scene = trimesh.load_scene(
            io.BytesIO(data), file_type=format, resolver=Refusing(), process=False, skip_materials=True
        )
        points = sum(len(part.vertices) for part in scene.geometry.values() if not hasattr(part, "faces"))
        loaded = scene.to_mesh()
        vertices, faces = np.asarray(loaded.vertices), np.asarray(loaded.faces)
    except (SignalError, MemoryError):
        raise
    except Exception as error:
        # Parsers of damaged files fail in every way there is; the user needs one sentence.
        raise SignalError(f"it is no readable {format.upper()} file ({_first_line(error)})") from error
    if points and not faces.size:
        raise SignalError(f"it holds {points:,} points and no faces: a point cloud encloses nothing")
    if not vertices.size and not faces.size:
        raise SignalError("the mesh is empty: no vertices and faces were found in it")
    return checked_mesh(vertices, faces)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:120]}" if lines else type(error).__name__


def _check_glb(data: bytes) -> None:
    """Refuse headers that promise more than the file holds, before anything is allocated for them."""
    try:
        magic, version, length = struct.unpack_from("<4sII", data)
        size, kind = struct.unpack_from("<I4s", data, 12)
        tree = json.loads(data[20 : 20 + size]) if kind == b"JSON" else None
    except (struct.error, ValueError, RecursionError) as error:
        raise SignalError(f"it is no readable GLB file ({_first_line(error)})") from error
    if magic != b"glTF" or version != 2 or not isinstance(tree, dict):
        raise SignalError(f"it is no binary glTF of version 2 (version {version})")
    if length > len(data):
        raise SignalError(f"it is cut off: its header says {length:,} bytes, and there are {len(data):,}")
    for buffer in _entries(tree, "buffers"):
        if "uri" in buffer and not str(buffer["uri"]).startswith("data:"):
            raise SignalError(
                f"it refers to {str(buffer['uri'])[:80]!r}, and references to other files are not followed"
            )
    for accessor in _entries(tree, "accessors"):
        count = accessor.get("count")
        if not isinstance(count, int) or not 0 <= count <= len(data):
            raise SignalError(f"it announces {count!r} elements in a file of {len(data):,} bytes")
    _check_nodes(_entries(tree, "nodes"))
    _check_instances(tree)


def _entries(tree: Document, name: str) -> list[Document]:
    found = tree.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise SignalError(f"{name} of a GLB file must be a list of objects")
    return found


def _check_nodes(nodes: list[Document]) -> None:
    """A node has one parent and no chain of nodes returns to itself, so that a scene cannot unfold without end."""
    children = [node.get("children", []) for node in nodes]
    if not all(isinstance(own, list) and all(isinstance(child, int) for child in own) for own in children):
        raise SignalError("the children of a node in a GLB file must be a list of numbers")
    below = [child for own in children for child in own]
    if len(below) != len(set(below)):
        raise SignalError("a node of its scene has two parents")
    reached = sorted(set(range(len(nodes))) - set(below))
    for node in reached:
        reached.extend(child for child in children[node] if 0 <= child < len(nodes))
    if len(reached) < len(nodes):
        raise SignalError("a node of its scene is its own ancestor")


def _check_instances(tree: Document) -> None:
    """A mesh may be placed many times, so that a small file can unfold into more corners than memory holds."""
    try:
        counts = [int(accessor["count"]) for accessor in _entries(tree, "accessors")]
        sizes = [
            sum(counts[part["indices"] if "indices" in part else part["attributes"]["POSITION"]] for part in parts)
            for parts in (mesh.get("primitives", []) for mesh in _entries(tree, "meshes"))
        ]
        total = sum(sizes[node["mesh"]] for node in _entries(tree, "nodes") if "mesh" in node)
    except (KeyError, IndexError, TypeError) as error:
        raise SignalError(f"it is no readable GLB file ({_first_line(error)})") from error
    if total > MAX_CORNERS:
        raise SignalError(f"its scene has {total:,} corners of faces, more than {MAX_CORNERS:,}")
