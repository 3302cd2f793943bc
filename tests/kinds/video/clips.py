"""Small clips whose frames can be told apart."""

from __future__ import annotations

import numpy as np

from staf.kinds import Video


def clip(frames: int = 12, height: int = 16, width: int = 24, rate: float = 12.0, channels: int = 3) -> Video:
    """A smooth wave that moves to the right, brighter from frame to frame."""
    t, y, x = np.mgrid[0:frames, 0:height, 0:width].astype(np.float64)
    wave = 0.25 + 0.2 * np.sin(2 * np.pi * (x / width - t / frames)) * np.cos(np.pi * y / height) + 0.4 * t / frames
    return Video(np.repeat((255 * wave).astype(np.uint8)[..., None], channels, -1), rate=rate, name="clip")
