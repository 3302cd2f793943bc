"""The files that a scene is written to, by suffix; loads nothing, so that help is quick."""

from __future__ import annotations

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
FILMS = (".mp4", ".gif")
ARRAYS = (".npz",)
MESHES = (".ply", ".obj", ".stl", ".glb", ".off")
