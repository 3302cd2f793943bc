"""A smooth picture with edges, small enough to fit in a test."""

from __future__ import annotations

import numpy as np

from staf.kinds import Image


def scene(height: int = 24, width: int = 32, channels: int = 3) -> Image:
    y, x = np.mgrid[:height, :width] / max(height, width)
    planes = [0.5 + 0.3 * np.sin(9 * x + k) * np.cos(7 * y) + 0.2 * (x + y > 0.7) * (k == 0) for k in range(channels)]
    return Image((np.clip(np.stack(planes, -1), 0, 1) * 255).astype(np.uint8), name="scene")
