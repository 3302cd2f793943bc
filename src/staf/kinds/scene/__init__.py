"""Scenes: posed photos, rays, radiance fields and their views."""

from __future__ import annotations

from staf.kinds.registry import Kind

KIND = Kind(
    "scene",
    "staf.kinds.scene.signal:Scene",
    options="staf.kinds.scene.options",
    order=5,
    folder_marks=("transforms_train.json", "transforms.json"),
    folder_reader="staf.kinds.scene.signal:read_scene",
)
