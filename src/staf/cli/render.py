"""`staf render FILE`: draw a fitted field at any scale, size or crop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from staf.cli.errors import UserError, edge
from staf.cli.options import Device, Flag, Number, OutFile, device_name
from staf.cli.outputs import prepare_file
from staf.cli.terminal import Terminal


@dataclass(frozen=True, kw_only=True)
class Render:
    """Draw a fitted field at any scale, size or crop.

    PNG, TIFF and NPY are written band by band, so that the picture may be larger than memory.
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """A fitted field: model.safetensors of a run."""
    scale: Number = None
    """Pixels of the picture per pixel of the fitted image."""
    size: Annotated[str | None, arg(metavar="WxH", help_behavior_hint="")] = None
    """Width and height of the picture in pixels, e.g. 1920x1080."""
    crop: Annotated[str | None, arg(metavar="L,T,R,B", help_behavior_hint="")] = None
    """Left, top, right, bottom in pixels of the fitted image; fractions are allowed."""
    out: OutFile = None
    """The picture; its suffix decides the format. By default a PNG beside the field."""
    overwrite: Flag = False
    """Replace the picture if it exists."""
    device: Device = None
    """cpu, cuda or cuda:N; by default a GPU if there is one."""
    json: Flag = False
    """Print one JSON document on stdout, and nothing else there."""


def options_for(words: Sequence[str]) -> type[Any]:
    return Render


def run(options: Render, terminal: Terminal) -> int:
    """Load, draw, write."""
    size = None if options.size is None else parse_size(options.size)
    crop = None if options.crop is None else parse_crop(options.crop)
    from staf.api import load
    from staf.signals import view

    device = device_name(options.device)
    field = load(options.file).to(device)
    image = field.signal
    convention: Any = field.convention
    with edge():
        seen = view(image.shape, crop=crop, size=size, scale=options.scale, convention=convention)
    height, width = seen.shape
    out = options.out or options.file.with_name(f"{options.file.stem}-{width}x{height}.png")
    prepare_file(out, overwrite=options.overwrite)
    image.render_file(
        field.predict,
        out,
        crop=crop,
        size=size,
        scale=options.scale,
        convention=convention,
        device=device,
    )
    terminal.say(f"{out}: {width}x{height} pixels")
    terminal.finish({"verb": "render", "file": str(options.file), "out": str(out), "width": width, "height": height})
    return 0


def parse_size(text: str) -> tuple[int, int]:
    """Width and height.

    >>> parse_size("640x480")
    (640, 480)
    """
    parts = text.lower().replace("\u00d7", "x").split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UserError(f"--size must be WIDTHxHEIGHT in whole pixels, such as 1920x1080, got {text!r}")
    return int(parts[0]), int(parts[1])


def parse_crop(text: str) -> tuple[float, float, float, float]:
    """Left, top, right, bottom.

    >>> parse_crop("0,0,64,32.5")
    (0.0, 0.0, 64.0, 32.5)
    """
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"--crop must be LEFT,TOP,RIGHT,BOTTOM in pixels, such as 0,0,64,64, got {text!r}") from None
    return left, top, right, bottom
