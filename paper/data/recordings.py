"""Recordings as experiments use them: audio files, or samples saved by numpy where nothing else is installed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from staf.kinds import Audio


@lru_cache(maxsize=2)
def open_recording(path: str, rate: int) -> Audio:
    """A recording from an audio file, or from a .npy of samples at `rate` a second."""
    from staf.kinds import Audio
    from staf.kinds import open as open_signal

    if path.endswith(".npy"):
        return Audio(np.load(path, allow_pickle=False), rate, name=Path(path).stem, subtype="FLOAT")
    opened = open_signal(path)
    if opened.kind != "audio":
        raise ValueError(f"--recording must be audio, got {path!r} of kind {opened.kind}")
    return opened
