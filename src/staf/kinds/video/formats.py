"""The files that a video is written to, by suffix; loads nothing, so that help is quick."""

from __future__ import annotations

FILMS = (".mp4", ".gif")
ARRAYS = (".npy",)
# Of a single frame.
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
