"""Damaged meshes and point clouds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staf
from staf.kinds.shape.mesh_writing import write_mesh
from tests.fuzz.target import Target
from tests.kinds.solids import box, glb, ply_text, sphere


def _meshes(name: str, extra: Callable[[], list[bytes]], **options: Any) -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        seeds = [write_mesh(mesh, folder / f"a.{name}").read_bytes() for mesh in (box(), sphere(1))]
        return Target(name, f"a.{name}", [*seeds, *extra()], staf.open, **options)

    return make


def _more_plys() -> list[bytes]:
    from tests.kinds.shape.test_mesh_limits import binary_ply, ply_row

    rows = [ply_row(order, face, place % 3) for order in "<>" for place, face in enumerate(box().faces.tolist())]
    return [ply_text(box()), ply_text(sphere(0)), binary_ply("<", rows[:12]), binary_ply(">", rows[12:])]


def _more_glbs() -> list[bytes]:
    from tests.kinds.shape.test_mesh_limits import scene

    nodes = [{"children": [1, 2], "translation": [1, 2, 3]}, {"mesh": 0, "scale": [1, -2, 3]}, {"mesh": 0}]
    turned = [{"mesh": 0, "rotation": [0, 0, 0.6, 0.8], "matrix": [1, 0, 0, 0] * 4}]
    return [scene(nodes, scenes=[{"nodes": [0]}], scene=0), scene(turned), glb({"asset": {"version": "2.0"}})]


def _more_objs() -> list[bytes]:
    return [b"mtllib a.mtl\no box\nv 0 0 0 1\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1 4/1/1\n"
            b"f -1 -2 \\\n-3\ng part\nf 1//1 2//1 3//1\nl 1 2\n# end\n"]  # fmt: skip


def _more_offs() -> list[bytes]:
    return [b"COFF\n4 2 0 # counts\n0 0 0 255 0 0\n1 0 0 0 0 0\n1 1 0 0 0 0\n0 1 0 9 9 9\n4 0 1 2 3 1 0 0\n3 0 1 2\n"]


def _more_stls() -> list[bytes]:
    import trimesh

    return [trimesh.creation.box().export(file_type="stl_ascii").encode()]


def _clouds(folder: Path) -> Target:
    head = b"ply\nformat %s 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    text = "\n".join(" ".join(str(number) for number in point) for point in points).encode() + b"\n"
    seeds = [head % b"ascii" + text]
    for name, order in ((b"binary_little_endian", "<f4"), (b"binary_big_endian", ">f4")):
        seeds.append(head % name + points.astype(order).tobytes())
    turned = head % b"binary_little_endian"
    for normal in (b"nx", b"ny", b"nz"):
        turned = turned.replace(b"end_header", b"property float " + normal + b"\nend_header")
    return Target("cloud", "a.ply", [*seeds, turned + np.tile(points, 2).tobytes()], staf.open, magic=b"ply")


def _texts(folder: Path) -> Target:
    seeds = [
        b"0 0 1\n1 0 0\n0 1 0\n0.5 0.5 0.5\n",
        b"# points\n0 0 1 0 0 1\n1 0 0 1 0 0\n0 1 0 0 1 0\n-1 2 3e4 0 0 1\n",
    ]
    return Target("xyz", "a.xyz", seeds, staf.open)


MAKERS: dict[str, Callable[[Path], Target]] = {
    "ply": _meshes("ply", _more_plys, magic=b"ply"),
    "obj": _meshes("obj", _more_objs),
    "stl": _meshes("stl", _more_stls),
    "glb": _meshes("glb", _more_glbs, magic=b"glTF"),
    "off": _meshes("off", _more_offs, magic=b"OFF"),
    "cloud": _clouds,
    "xyz": _texts,
}
