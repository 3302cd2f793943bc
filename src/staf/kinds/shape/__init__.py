"""Shapes: closed surfaces as inside and outside on a grid."""

from __future__ import annotations

from staf.kinds.registry import Format, Kind

_READING = "staf.kinds.shape.mesh_reading"

KIND = Kind(
    "shape",
    "staf.kinds.shape.signal:Shape",
    formats=(
        Format("PLY", "shape", ((0, b"ply"),), f"{_READING}:read_ply", test="staf.kinds.cloud.reading:announces_mesh"),
        Format("GLB", "shape", ((0, b"glTF"),), f"{_READING}:read_glb"),
        Format("OFF", "shape", ((0, b"OFF"),), f"{_READING}:read_off"),
        Format("OFF", "shape", ((0, b"COFF"),), f"{_READING}:read_off"),
        Format("OBJ", "shape", reader=f"{_READING}:read_obj", suffixes=(".obj",)),
        Format("STL", "shape", reader=f"{_READING}:read_stl", suffixes=(".stl",)),
    ),
    options="staf.kinds.shape.options",
    suffixes=(".ply", ".obj", ".stl", ".glb", ".off"),
    order=3,
)
