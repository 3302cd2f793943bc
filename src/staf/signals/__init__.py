"""Signals: what is read from files or arrays, seen as values on a grid, and written back.

Libraries for images, audio and meshes are loaded when a file is first read or written, never on import.
"""

from __future__ import annotations

from staf.signals.audio import Audio
from staf.signals.errors import SignalError
from staf.signals.image import Image
from staf.signals.kinds import from_metadata
from staf.signals.opening import open
from staf.signals.rendering import render_grid, view
from staf.signals.sample import SAMPLES, sample_photo
from staf.signals.shape import Shape

__all__ = [
    "SAMPLES",
    "Audio",
    "Image",
    "Shape",
    "SignalError",
    "from_metadata",
    "open",
    "render_grid",
    "sample_photo",
    "view",
]
