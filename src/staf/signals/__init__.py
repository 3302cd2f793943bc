"""Signals: what is read from files or arrays, seen as values on a grid, and written back.

Image libraries are loaded when a file is first read or written, never on import.
"""

from __future__ import annotations

from staf.signals.errors import SignalError
from staf.signals.image import Image
from staf.signals.opening import open
from staf.signals.rendering import render_file, render_grid, render_image
from staf.signals.sample import sample_photo

__all__ = ["Image", "SignalError", "open", "render_file", "render_grid", "render_image", "sample_photo"]
