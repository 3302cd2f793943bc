"""What the command line asks about videos."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from staf._documents import Document
from staf.kinds.image.options import parse_crop, parse_size
from staf.kinds.options import Count, ExportKind, FitKind, Number, RenderKind
from staf.kinds.video.formats import FILMS, PICTURES
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.video.signal import Video
    from staf.signals.base import Signal
    from staf.signals.grid import Convention

Size = Annotated[str | None, arg(metavar="WxH", help_behavior_hint="")]
Seconds = Annotated[float | None, arg(metavar="SECONDS", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Fit(FitKind):
    """Fit a function of time and position to a video (MP4, MOV, WebM, Matroska, AVI, GIF).

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.mp4, history.csv,
    metrics.json, config.json and report.html. Ctrl-C writes a checkpoint, from which --resume continues.
    """

    start: Seconds = None
    """Start at this second of the file."""
    stop: Seconds = None
    """Stop at this second of the file."""
    every: Count = None
    """Use only every N-th frame."""
    size: Size = None
    """Resize frames to this size before the fit, e.g. 320x180."""
    max_pixels: Count = None
    """Refuse videos with more pixels than this, over all frames."""

    def open(self, path: Path) -> Video:
        from staf.kinds.video.signal import Video

        return Video.read(
            path,
            start=0.0 if self.start is None else self.start,
            stop=math.inf if self.stop is None else self.stop,
            every=1 if self.every is None else self.every,
            size=parse_size(self.size),
            max_pixels=self.max_pixels,
        )

    def resume_hint(self) -> str | None:
        return (
            "the interrupted fit was started with other frames: give the same file, and --start, --stop, --every and "
            "--size as they were then"
        )


@dataclass(frozen=True, kw_only=True)
class Render(RenderKind):
    """Render a fitted video as MP4, GIF or NPY, at any frame rate, speed and size, or one moment as a picture."""

    rate: Number = None
    """Frames per second of the output (default: those of the fitted video)."""
    speed: Number = None
    """Playback speed: 0.25 is four times slower (default: 1)."""
    start: Seconds = None
    """Start, in seconds of the fitted video."""
    stop: Seconds = None
    """Stop, in seconds of the fitted video."""
    at: Seconds = None
    """Render one moment as a picture; --out must end in .png, .jpg, .tif or .webp."""
    scale: Number = None
    """Output pixels per pixel of the fitted frames."""
    size: Size = None
    """Width and height of the frames in pixels, e.g. 1920x1080."""
    crop: Annotated[str | None, arg(metavar="L,T,R,B", help_behavior_hint="")] = None
    """Left, top, right, bottom in pixels of the fitted frames; fractions are allowed."""

    def how(self, out: Path | None) -> Document:
        is_picture = out is not None and out.suffix.lower() in PICTURES
        if self.at is not None and not is_picture:
            raise SignalError(f"--at is one picture: name it with --out, ending in {', '.join(PICTURES)}")
        if is_picture and self.at is None:
            raise SignalError(f"{str(out)!r} is one picture: say of which moment with --at SECONDS")
        times = {"rate": self.rate, "speed": self.speed, "start": self.start, "stop": self.stop}
        if self.at is not None and (given := [name for name, value in times.items() if value is not None]):
            raise SignalError(f"--{given[0]} is of a film, and --at of one picture: give one of them")
        named: Document = {**times, "at": self.at, "scale": self.scale}
        named |= {"size": parse_size(self.size), "crop": parse_crop(self.crop)}
        return {name: value for name, value in named.items() if value is not None}

    def ending(self, signal: Signal, how: Document, convention: Convention) -> str:
        return f"-rendered{film_suffix()}"


@dataclass(frozen=True, kw_only=True)
class Export(ExportKind):
    """Write a fitted video as MP4, GIF or NPY.

    FIELD is the file of a field or a run folder.
    """

    rate: Number = None
    """Frames per second (default: those of the fitted video)."""
    scale: Number = None
    """Output pixels per pixel of the fitted frames."""
    size: Size = None
    """Width and height of the frames in pixels."""

    def how(self) -> Document:
        named = {"rate": self.rate, "scale": self.scale, "size": parse_size(self.size)}
        return {name: value for name, value in named.items() if value is not None}


def film_suffix() -> str:
    """MP4 where it can be written."""
    from importlib.util import find_spec

    return FILMS[0] if find_spec("av") is not None else FILMS[1]
