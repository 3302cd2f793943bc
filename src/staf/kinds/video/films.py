"""Frames into a film, one after another: MP4 by PyAV, GIF by Pillow, NPY; whole or not at all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from staf._extras import need
from staf.kinds.video.formats import ARRAYS, FILMS
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError
from staf.signals.npy import write_bands

# How much H.264 may lose: 0 is nothing, 18 is hardly seen.
QUALITY = 12
# Rates that GIF cannot have: it counts in hundredths of a second, and viewers slow down below two of them.
FASTEST_GIF = 50.0


def write_film(path: str | os.PathLike[str], frames: Iterable[np.ndarray], rate: float, count: int) -> Path:
    """Write `count` frames (h, w, 1 or 3) of bytes in the format of the suffix; MP4 and NPY hold one at a time.

    MP4 is H.264, whose sides are even: the last row or column of odd ones is left out.
    """
    suffix = Path(path).suffix.lower()
    if not 0 < rate < 1e6:
        raise SignalError(f"rate must be frames per second, a positive number, got {rate}")
    if suffix not in (*FILMS, *ARRAYS):
        raise SignalError(f"a video is written as {', '.join((*FILMS, *ARRAYS))}, got {Path(path).name!r}")
    if suffix == ".gif" and rate > FASTEST_GIF:
        raise SignalError(f"a GIF has at most {FASTEST_GIF:g} frames a second, got {rate:g}: write an .mp4, or fewer")
    coming = iter(frames)
    first = next(coming, None)
    if first is None:
        raise SignalError("a video must have at least one frame, got none")
    whole = itertools.chain([first], coming)
    with atomic_path(path) as temporary:
        if suffix == ".npy":
            write_bands(temporary, (frame[None] for frame in whole), (count, *first.shape), first.dtype)
        elif suffix == ".gif":
            _write_gif(temporary, whole, rate)
        else:
            _write_mp4(temporary, whole, rate, first.shape[:2])
    return Path(path)


def _write_gif(path: Path, frames: Iterator[np.ndarray], rate: float) -> None:
    import PIL.Image

    pictures = (PIL.Image.fromarray(_plain(frame)) for frame in frames)
    first = next(pictures)
    with path.open("wb") as file:
        first.save(file, "GIF", save_all=True, append_images=pictures, duration=1000 / rate, loop=0)


def _write_mp4(path: Path, frames: Iterator[np.ndarray], rate: float, size: tuple[int, ...]) -> None:
    av = need("video", "av")
    height, width = (side - side % 2 for side in size)
    if min(height, width) < 2:
        raise SignalError(f"an MP4 must have at least 2x2 pixels, got {size[1]}x{size[0]}")
    with path.open("wb") as file, av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(rate).limit_denominator(1001))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"crf": str(QUALITY)}
        for frame in frames:
            pixels = np.ascontiguousarray(_plain(frame)[:height, :width])
            picture = av.VideoFrame.from_ndarray(pixels, format="rgb24" if pixels.ndim == 3 else "gray")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())


def _plain(frame: np.ndarray) -> np.ndarray:
    """(h, w, 3), or (h, w) where there is one channel."""
    return frame[..., 0] if frame.shape[-1] == 1 else frame
