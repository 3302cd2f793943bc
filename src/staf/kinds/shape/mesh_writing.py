"""Meshes to PLY, OBJ, STL, GLB and OFF, whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from staf._extras import need
from staf.kinds.shape.mesh import Mesh
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError


def write_mesh(mesh: Mesh, path: str | os.PathLike[str]) -> Path:
    """Writes `mesh` in the format of the suffix. PLY, OBJ and OFF keep float64; STL and GLB hold float32 by nature.

    >>> import tempfile
    >>> triangle = Mesh(np.eye(3), np.array([[0, 1, 2]]))
    >>> write_mesh(triangle, Path(tempfile.mkdtemp()) / "one.off").read_text().splitlines()[:2]
    ['OFF', '3 1 0']
    """
    path = Path(path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise SignalError(f"a mesh is written as {', '.join(WRITERS)}, got {path.name!r}")
    data = writer(mesh)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
    return path


def _ply(mesh: Mesh) -> bytes:
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {len(mesh.vertices)}\nproperty double x\nproperty double y\nproperty double z\n"
        f"element face {len(mesh.faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    rows = np.empty(len(mesh.faces), [("count", "u1"), ("corners", "<i4", 3)])
    rows["count"], rows["corners"] = 3, mesh.faces
    return header.encode("ascii") + mesh.vertices.astype("<f8").tobytes() + rows.tobytes()


def _obj(mesh: Mesh) -> bytes:
    text = io.StringIO()
    np.savetxt(text, mesh.vertices, fmt="v %.17g %.17g %.17g")
    np.savetxt(text, mesh.faces + 1, fmt="f %d %d %d")
    return text.getvalue().encode("ascii")


def _off(mesh: Mesh) -> bytes:
    text = io.StringIO()
    text.write(f"OFF\n{len(mesh.vertices)} {len(mesh.faces)} 0\n")
    np.savetxt(text, mesh.vertices, fmt="%.17g %.17g %.17g")
    np.savetxt(text, mesh.faces, fmt="3 %d %d %d")
    return text.getvalue().encode("ascii")


def _stl(mesh: Mesh) -> bytes:
    rows = np.zeros(len(mesh.faces), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    rows["normal"], rows["corners"] = mesh.face_normals(), mesh.corners
    return bytes(80) + np.uint32(len(mesh.faces)).tobytes() + rows.tobytes()


def _glb(mesh: Mesh) -> bytes:
    trimesh = need("shape", "trimesh")

    data = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(file_type="glb")
    assert isinstance(data, bytes)
    return data


WRITERS: dict[str, Callable[[Mesh], bytes]] = {".ply": _ply, ".obj": _obj, ".stl": _stl, ".glb": _glb, ".off": _off}
