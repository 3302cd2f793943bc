"""What the command line asks about grids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from staf._documents import Document
from staf.kinds.options import Count, ExportKind, FitKind, Number, RenderKind
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.grid.signal import Grid
    from staf.signals.base import Signal
    from staf.signals.grid import Convention

Size = Annotated[str | None, arg(metavar="AxBxC", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Fit(FitKind):
    """Fit a field to an array of 1 to 4 dimensions with any number of channels.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.npy, history.csv,
    metrics.json, config.json and report.html. Ctrl-C stops the training and writes the fit so far and
    a checkpoint, from which --resume continues; a second Ctrl-C exits at once.
    """

    channels: Annotated[Literal["last", "none"] | None, arg(metavar="{last,none}", help_behavior_hint="")] = None
    """Whether the last axis has channels (default: it does if it has at most 16 entries)."""
    max_pixels: Count = None
    """Refuse files with more samples than this."""

    def open(self, path: Path) -> Grid:
        from staf.kinds import open as open_signal

        grid: Grid = open_signal(path) if self.max_pixels is None else open_signal(path, max_pixels=self.max_pixels)
        return grid if self.channels is None else grid.with_channels(self.channels == "last")


@dataclass(frozen=True, kw_only=True)
class Render(RenderKind):
    """Sample a fitted grid at any scale, size or crop, into an NPY file.

    The array can be larger than memory.
    """

    scale: Number = None
    """Output samples per sample of the fitted grid, along every axis."""
    size: Size = None
    """Number of samples along each axis, e.g. 128x128x64."""
    crop: Annotated[str | None, arg(metavar="A:B,C:D", help_behavior_hint="")] = None
    """Start and stop along each axis, in samples of the fitted grid; fractions are allowed."""

    def how(self, out: Path | None) -> Document:
        return {"crop": parse_windows(self.crop), "size": parse_sizes(self.size), "scale": self.scale}

    def ending(self, signal: Signal, how: Document, convention: Convention) -> str:
        from staf.kinds.grid.signal import Grid

        assert isinstance(signal, Grid)
        shape = signal.output_grid(convention=convention, **how).shape
        return f"-{'x'.join(str(n) for n in shape)}.npy"


@dataclass(frozen=True, kw_only=True)
class Export(ExportKind):
    """Write a fitted grid as NPY, in the type and layout of the original.

    FIELD is the file of a field, a run folder, or a folder of fit-many, whose fields are all exported.
    """

    scale: Number = None
    """Output samples per sample of the fitted grid, along every axis."""
    size: Size = None
    """Number of samples along each axis, e.g. 128x128x64."""

    def how(self) -> Document:
        return {"size": parse_sizes(self.size), "scale": self.scale}


def parse_sizes(text: str | None) -> tuple[int, ...] | None:
    """Samples along each axis.

    >>> parse_sizes("64x32x8")
    (64, 32, 8)
    """
    if text is None:
        return None
    parts = text.lower().replace("\u00d7", "x").split("x")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise SignalError(f"--size must be whole numbers joined by x, such as 128x128x64, got {text!r}")
    return tuple(int(part) for part in parts)


def parse_windows(text: str | None) -> list[tuple[float, float]] | None:
    """Start and stop along each axis.

    >>> parse_windows("0:64,8:16.5")
    [(0.0, 64.0), (8.0, 16.5)]
    """
    if text is None:
        return None
    try:
        pairs = [[float(end) for end in part.split(":")] for part in text.split(",")]
        return [(start, stop) for start, stop in pairs]
    except ValueError:
        raise SignalError(f"--crop must be START:STOP for each axis, such as 0:64,8:16, got {text!r}") from None
