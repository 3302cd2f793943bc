"""Two small pictures as a machine without image libraries gets them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from paper.data.sources import write_stack

QUIET = ["--workers", "1", "--device", "cpu", "--no-progress"]


def pictures(side: int = 12) -> dict[str, np.ndarray]:
    """A ramp of colours with some noise, twice."""
    y, x = np.mgrid[0:side, 0:side] / side
    random = np.random.default_rng(0)
    return {
        name: (255 * np.clip(np.stack([x, y, x * y], -1) + 0.1 * random.random((side, side, 3)), 0, 1)).astype(np.uint8)
        for name in ("one", "two")
    }


def stack(folder: Path, side: int = 12) -> str:
    """The path of the stack."""
    return str(write_stack(folder / "pictures.npy", pictures(side)))
