"""The kinds of signal, one folder each, and what finds them: a folder here that defines `KIND` is a kind.

Libraries for images, audio and meshes are loaded when a file is first read or written, never on import. The classes of
signals are found through the registry, so that `staf.kinds.Image` needs no list here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    **dict.fromkeys(("SAMPLES", "sample_photo"), "staf.kinds.image.sample"),
    **dict.fromkeys(("Format", "Kind", "from_metadata", "register", "unregister"), "staf.kinds.registry"),
    "open": "staf.kinds.opening",
}

__all__ = [
    "SAMPLES",
    "Audio",
    "Format",
    "Grid",
    "Image",
    "Kind",
    "PointCloud",
    "Scene",
    "Shape",
    "Video",
    "from_metadata",
    "open",
    "register",
    "sample_photo",
    "unregister",
]

if TYPE_CHECKING:
    from staf.kinds.audio.signal import Audio
    from staf.kinds.cloud.signal import PointCloud
    from staf.kinds.grid.signal import Grid
    from staf.kinds.image.sample import SAMPLES, sample_photo
    from staf.kinds.image.signal import Image
    from staf.kinds.opening import open
    from staf.kinds.registry import Format, Kind, from_metadata, register, unregister
    from staf.kinds.scene.signal import Scene
    from staf.kinds.shape.signal import Shape
    from staf.kinds.video.signal import Video


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        from staf.kinds.registry import kinds

        for kind in kinds().values():
            if kind.class_name == name:
                return kind.load()
    raise AttributeError(f"module 'staf.kinds' has no attribute {name!r}")
