"""Small closed surfaces for tests."""

from __future__ import annotations

import io
import json
import struct

import numpy as np

from staf.kinds.shape.mesh import Mesh


def torus(major: float = 1.0, minor: float = 0.4, around: int = 24, across: int = 12) -> Mesh:
    u, v = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    a, b = 2 * np.pi * u / around, 2 * np.pi * v / across
    radius = major + minor * np.cos(b)
    vertices = np.stack([radius * np.cos(a), radius * np.sin(a), minor * np.sin(b)], -1).reshape(-1, 3)
    name = lambda i, j: (i % around) * across + j % across  # noqa: E731
    p, q, r, s = name(u, v), name(u + 1, v), name(u + 1, v + 1), name(u, v + 1)
    faces = np.concatenate([np.stack([p, q, r], -1).reshape(-1, 3), np.stack([p, r, s], -1).reshape(-1, 3)])
    return Mesh(vertices, faces)


def box(low: float = 0.0, high: float = 1.0) -> Mesh:
    corners = np.array([[x, y, z] for x in (low, high) for y in (low, high) for z in (low, high)], dtype=float)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Mesh(corners, np.array([face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))]))


def sphere(subdivisions: int = 3, radius: float = 1.0) -> Mesh:
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    return Mesh(np.asarray(ball.vertices, float), np.asarray(ball.faces, np.int64))


def together(*meshes: Mesh) -> Mesh:
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def moved(mesh: Mesh, scale: float = 1.0, shift: tuple[float, float, float] = (0, 0, 0)) -> Mesh:
    return Mesh(mesh.vertices * scale + np.array(shift), mesh.faces)


def volume_of(mesh: Mesh) -> float:
    a, b, c = mesh.corners.transpose(1, 0, 2)
    return float((a * np.cross(b, c)).sum() / 6)


def ply_text(mesh: Mesh, comment: str = "none") -> bytes:
    text = io.StringIO()
    text.write(f"ply\nformat ascii 1.0\ncomment {comment}\nelement vertex {len(mesh.vertices)}\n")
    text.write("property float x\nproperty float y\nproperty float z\n")
    text.write(f"element face {len(mesh.faces)}\nproperty list uchar int vertex_indices\nend_header\n")
    np.savetxt(text, mesh.vertices, fmt="%.9g")
    np.savetxt(text, mesh.faces, fmt="3 %d %d %d")
    return text.getvalue().encode()


def glb(tree: dict, binary: bytes = b"") -> bytes:
    head = json.dumps(tree).encode()
    head += b" " * (-len(head) % 4)
    body = struct.pack("<I4s", len(head), b"JSON") + head
    if binary:
        body += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body
