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
    """Fit a field of time and place to a video (MP4, MOV, WebM, Matroska, AVI, GIF).

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.mp4, history.csv,
    metrics.json, config.json and report.html. Ctrl-C leaves a checkpoint there, and --resume continues from it.
    """

    start: Seconds = None
    """Leave out what is before this second of the file."""
    stop: Seconds = None
    """Leave out what is from this second on."""
    every: Count = None
    """Take every N-th frame only."""
    size: Size = None
    """Make frames this large on the way in, e.g. 320x180."""
    max_pixels: Count = None
    """Refuse videos of more pixels than this, over all frames."""

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
    """Write a fitted video as MP4, GIF or NPY, at any frame rate, speed and size, or one moment of it as a picture."""

    rate: Number = None
    """Frames a second of the film; by default those of the fitted video."""
    speed: Number = None
    """How fast time passes: 0.25 is four times slower (1 if not given)."""
    start: Seconds = None
    """Where the film begins, in seconds of the fitted video."""
    stop: Seconds = None
    """Where it ends."""
    at: Seconds = None
    """One moment alone, as a picture: name it with --out, ending in .png, .jpg, .tif or .webp."""
    scale: Number = None
    """Pixels per pixel of the fitted frames."""
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

    FIELD is the file of a field, or the folder of a run.
    """

    rate: Number = None
    """Frames a second; by default those of the fitted video."""
    scale: Number = None
    """Pixels per pixel of the fitted frames."""
    size: Size = None
    """Width and height of the frames in pixels."""

    def how(self) -> Document:
        named = {"rate": self.rate, "scale": self.scale, "size": parse_size(self.size)}
        return {name: value for name, value in named.items() if value is not None}


def film_suffix() -> str:
    """MP4 where it can be written."""
    from importlib.util import find_spec

    return FILMS[0] if find_spec("av") is not None else FILMS[1]
