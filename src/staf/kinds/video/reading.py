"""Videos from files: MP4 and its relatives by PyAV, GIF by Pillow; a part of them, fewer frames, or smaller ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from staf._extras import need
from staf.kinds.gif_blocks import check_extents
from staf.kinds.limits import check_ratio
from staf.kinds.video.frames import gathered, too_many
from staf.signals.errors import SignalError, damaged

if TYPE_CHECKING:
    from staf.kinds.video.signal import Video

# The share of the announced frames that must be there: the counts of some writers are off by a few.
THERE = 0.9
GREY = ("gray", "gray8", "gray10le", "gray12le", "gray16le")
# How many times its file a single frame may be: a decoder holds several of them, whatever the file has.
FRAME_RATIO = 1000
# GIF frames may say that they last no time; viewers take a tenth of a second.
GIF_SECONDS = 0.1


@dataclass(frozen=True)
class Part:
    """What is taken of a file: the seconds [start, stop), every n-th frame, at a size (width, height).

    >>> Part(start=1.0, every=2)
    Part(start=1.0, stop=inf, every=2, size=None)
    """

    start: float = 0.0
    stop: float = math.inf
    every: int = 1
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise SignalError(f"start must be at least 0 and below stop, got {self.start:g} and {self.stop:g} seconds")
        if self.every < 1:
            raise SignalError(f"every must be at least 1, got {self.every}")
        if self.size is not None and min(self.size) < 1:
            raise SignalError(f"size must be (width, height) of at least one pixel, got {self.size}")


WHOLE = Part()


def read_mp4(path: Path, limit: int, part: Part = WHOLE) -> Video:
    """Reads MP4 and MOV."""
    return _read(path, "mov", limit, part)


def read_matroska(path: Path, limit: int, part: Part = WHOLE) -> Video:
    """Reads Matroska and WebM."""
    return _read(path, "matroska", limit, part)


def read_avi(path: Path, limit: int, part: Part = WHOLE) -> Video:
    """Reads AVI."""
    return _read(path, "avi", limit, part)


def read_gif(path: Path, limit: int, part: Part = WHOLE) -> Video:
    """Reads GIF by Pillow, each frame as it is seen, transparent places on white."""
    import PIL.Image

    from staf.kinds.video.signal import Video

    with path.open("rb") as file:
        check_extents(file)
    with path.open("rb") as file, PIL.Image.open(file, formats=["GIF"]) as picture:
        count = getattr(picture, "n_frames", 1)
        width, height = part.size or picture.size
        _check(math.ceil(count / part.every), width, height, limit)
        _check_frame(path, *picture.size)
        notes: list[str] = []
        seconds: list[float] = []

        def frames() -> Iterator[np.ndarray]:
            at = 0.0
            for number in range(count):
                picture.seek(number)
                lasts = picture.info.get("duration", 0) / 1000 or GIF_SECONDS
                taken = part.start <= at < part.stop and number % part.every == 0
                at += lasts
                if not taken:
                    continue
                seconds.append(lasts)
                seen = picture.convert("RGBA")
                if np.asarray(seen)[..., 3].min() < 255:
                    white = PIL.Image.new("RGBA", seen.size, "white")
                    seen = PIL.Image.alpha_composite(white, seen)
                    if not notes:
                        notes.append("transparent places were put on white")
                shown = seen.convert("RGB")
                yield np.asarray(shown.resize(part.size, PIL.Image.Resampling.BOX) if part.size else shown)

        array = _gathered(frames(), limit, part)
    if max(seconds) > 1.01 * min(seconds):
        notes.append("frames last unequally long: they are taken as equal, at the mean rate")
    rate = len(seconds) / sum(seconds) / part.every
    return Video(array, rate=rate, notes=notes)


def _read(path: Path, demuxer: str, limit: int, part: Part) -> Video:
    """Reads by PyAV. The demuxer is named, so that no file is taken for a playlist that names others."""
    av = need("video", "av")
    from staf.kinds.video.signal import Video

    with _sizes_refused(av), path.open("rb") as file, av.open(file, format=demuxer) as container:
        if not container.streams.video:
            raise SignalError("it has no video")
        stream = container.streams.video[0]
        if stream.codec_context is None:
            raise damaged("its video has no codec that is known, or it was cut off before that is said")
        stream.thread_type = "AUTO"
        rate = stream.average_rate or stream.base_rate or Fraction(25)
        announced = stream.frames or _estimated(stream, container, rate)
        width, height = part.size or (stream.width, stream.height)
        wanted = _frames_in(part, announced, float(rate))
        _check(wanted, width, height, limit)
        _check_frame(path, stream.width, stream.height)
        grey = stream.pix_fmt in GREY
        notes = ["the sound is left out"] if container.streams.audio else []
        if stream.pix_fmt is not None and any(depth in stream.pix_fmt for depth in ("p10", "p12", "gray1")):
            notes.append(f"{stream.pix_fmt} has more than 8 bits a sample; 8 are kept")
        array = _gathered(_decoded(container, stream, part, grey), limit, part)
        if stream.frames and len(array) < THERE * wanted:
            raise damaged(f"{len(array):,} of {wanted:,} frames are there")
    return Video(array, rate=float(rate) / part.every, notes=notes)


@contextmanager
def _sizes_refused(av: Any) -> Iterator[None]:
    """The decoders' own limits as damage: they refuse tables of absurd sizes with the words for a lack of memory."""
    try:
        yield
    except av.error.MemoryError as error:
        raise damaged("it announces a table or a frame of a size that its decoder refuses") from error


def _decoded(container: Any, stream: Any, part: Part, grey: bool) -> Iterator[np.ndarray]:
    """The frames of a part, as bytes (h, w, 1 or 3), upright."""
    begin = stream.start_time or 0
    base = stream.time_base
    if part.start > 0:
        # To the last whole frame before; those between are decoded and dropped.
        container.seek(begin + int(part.start / base), stream=stream)
    taken = 0
    for frame in container.decode(stream):
        at = 0.0 if frame.pts is None else float((frame.pts - begin) * base)
        if at < part.start - 1e-6:
            continue
        if at >= part.stop - 1e-6:
            return
        taken += 1
        if (taken - 1) % part.every:
            continue
        how = {} if part.size is None else {"width": part.size[0], "height": part.size[1], "interpolation": "AREA"}
        turned = int(getattr(frame, "rotation", 0)) % 360 // 90
        if turned % 2 and part.size is not None:
            how["width"], how["height"] = how["height"], how["width"]
        pixels = frame.reformat(format="gray" if grey else "rgb24", **how).to_ndarray()
        yield np.ascontiguousarray(np.rot90(pixels[..., None] if grey else pixels, turned))


def _gathered(frames: Iterator[np.ndarray], limit: int, part: Part) -> np.ndarray:
    try:
        return gathered(frames, limit)
    except SignalError as error:
        if "no frames" in str(error) and part != WHOLE:
            raise SignalError(f"it has no frames from {part.start:g} to {part.stop:g} seconds") from None
        raise


def _estimated(stream: Any, container: Any, rate: Fraction) -> int:
    """Frames by the duration, where the header has no count."""
    if stream.duration is not None:
        return max(1, int(stream.duration * stream.time_base * rate))
    return max(1, int((container.duration or 0) / 1e6 * rate))


def _frames_in(part: Part, announced: int, rate: float) -> int:
    stop = min(part.stop, announced / rate)
    return max(1, math.ceil((stop - part.start) * rate / part.every - 1e-6)) if stop > part.start else 1


def _check_frame(path: Path, width: int, height: int) -> None:
    check_ratio(3 * width * height, path.stat().st_size, FRAME_RATIO, f"frames of {width}x{height}")


def _check(frames: int, width: int, height: int, limit: int) -> None:
    if min(width, height) < 1:
        raise SignalError(f"its header announces frames of {width}x{height} pixels")
    if frames * width * height > limit:
        what = f"its header announces {frames:,} frames of {width}x{height},"
        raise SignalError(too_many(what, frames * width * height, limit))
