"""The kinds of signal, one folder each: images, audio, shapes.

Libraries for images, audio and meshes are loaded when a file is first read or written, never on import.
"""

from __future__ import annotations

from staf.kinds.audio.signal import Audio
from staf.kinds.image.sample import SAMPLES, sample_photo
from staf.kinds.image.signal import Image
from staf.kinds.opening import open
from staf.kinds.registry import from_metadata
from staf.kinds.shape.signal import Shape

__all__ = ["SAMPLES", "Audio", "Image", "Shape", "from_metadata", "open", "sample_photo"]
