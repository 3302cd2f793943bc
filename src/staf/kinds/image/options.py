"""What the command line asks about images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from staf._documents import Document
from staf.kinds.options import Count, ExportKind, FitKind, Flag, Number, RenderKind
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.signals.base import Signal
    from staf.signals.grid import Convention

Size = Annotated[str | None, arg(metavar="WxH", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Fit(FitKind):
    """Fit a field to an image. For the options of another kind of signal, give a file: staf fit bach.wav --help.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, the reconstruction, history.csv,
    metrics.json, config.json and report.html. Ctrl-C stops the training and writes the fit so far and
    a checkpoint, from which --resume continues; a second Ctrl-C exits at once.
    """

    max_pixels: Count = None
    """Refuse files with more pixels than this (default: 400 million)."""

    def open(self, path: Path) -> Signal:
        from staf.kinds import open as open_signal

        return open_signal(path) if self.max_pixels is None else open_signal(path, max_pixels=self.max_pixels)


@dataclass(frozen=True, kw_only=True)
class Render(RenderKind):
    """Render a fitted image at any scale, size or crop.

    PNG, TIFF and NPY files can be larger than memory.
    """

    scale: Number = None
    """Output pixels per pixel of the fitted image."""
    size: Size = None
    """Width and height of the output in pixels, e.g. 1920x1080."""
    crop: Annotated[str | None, arg(metavar="L,T,R,B", help_behavior_hint="")] = None
    """Left, top, right, bottom in pixels of the fitted image; fractions are allowed."""
    pyramid: Flag = False
    """Write a tiled TIFF with smaller copies of the image, which viewers of large images open quickly."""

    def how(self, out: Path | None) -> Document:
        if self.pyramid and (out is None or out.suffix.lower() not in (".tif", ".tiff")):
            raise SignalError(f"--pyramid needs --out NAME.tif, got {'none' if out is None else str(out)!r}")
        return {
            "crop": parse_crop(self.crop),
            "size": parse_size(self.size),
            "scale": self.scale,
            "pyramid": self.pyramid,
        }

    def ending(self, signal: Signal, how: Document, convention: Convention) -> str:
        from staf.kinds.image.view import output_size

        width, height = output_size(signal.shape, how, convention)
        return f"-{width}x{height}.png"


@dataclass(frozen=True, kw_only=True)
class Export(ExportKind):
    """Write a fitted image as PNG, TIFF, JPEG, WebP or NPY, with the original's bit depth and colour profile.

    FIELD is the file of a field, a run folder, or a folder of fit-many, whose fields are all exported.
    """

    scale: Number = None
    """Output pixels per pixel of the fitted image."""
    size: Size = None
    """Width and height in pixels, e.g. 1920x1080."""

    def how(self) -> Document:
        return {"size": parse_size(self.size), "scale": self.scale}


def parse_size(text: str | None) -> tuple[int, int] | None:
    """Width and height.

    >>> parse_size("640x480")
    (640, 480)
    """
    if text is None:
        return None
    parts = text.lower().replace("\u00d7", "x").split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise SignalError(f"--size must be WIDTHxHEIGHT in whole pixels, such as 1920x1080, got {text!r}")
    return int(parts[0]), int(parts[1])


def parse_crop(text: str | None) -> tuple[float, float, float, float] | None:
    """Left, top, right, bottom.

    >>> parse_crop("0,0,64,32.5")
    (0.0, 0.0, 64.0, 32.5)
    """
    if text is None:
        return None
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
    except ValueError:
        raise SignalError(f"--crop must be LEFT,TOP,RIGHT,BOTTOM in pixels, such as 0,0,64,64, got {text!r}") from None
    return left, top, right, bottom
