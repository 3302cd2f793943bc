"""`staf render FILE`: draw a fitted field: a picture at any scale, size or crop, audio at any rate, a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from staf.cli.errors import UserError, edge
from staf.cli.kinds import kind_of_field
from staf.cli.options import Count, Device, Flag, Number, OutFile, device_name
from staf.cli.outputs import prepare_file
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.api import FittedField


@dataclass(frozen=True, kw_only=True)
class Render:
    """Draw a fitted field."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """A fitted field: model.safetensors of a run."""
    out: OutFile = None
    """What to write; its suffix decides the format. By default beside the field."""
    overwrite: Flag = False
    """Replace it if it exists."""
    device: Device = None
    """cpu, cuda or cuda:N; by default a GPU if there is one."""
    json: Flag = False
    """Print one JSON document on stdout, and nothing else there."""


@dataclass(frozen=True, kw_only=True)
class RenderImage(Render):
    """Draw a fitted picture at any scale, size or crop.

    PNG, TIFF and NPY are written band by band, so that the picture may be larger than memory.
    """

    scale: Number = None
    """Pixels of the picture per pixel of the fitted image."""
    size: Annotated[str | None, arg(metavar="WxH", help_behavior_hint="")] = None
    """Width and height of the picture in pixels, e.g. 1920x1080."""
    crop: Annotated[str | None, arg(metavar="L,T,R,B", help_behavior_hint="")] = None
    """Left, top, right, bottom in pixels of the fitted image; fractions are allowed."""


@dataclass(frozen=True, kw_only=True)
class RenderAudio(Render):
    """Play a fitted recording into a file, at any rate."""

    rate: Count = None
    """Samples per second; by default those of the recording."""
    start: Number = None
    """Seconds from the beginning at which to start."""
    stop: Number = None
    """Seconds from the beginning at which to stop."""


@dataclass(frozen=True, kw_only=True)
class RenderShape(Render):
    """Make a mesh of a fitted shape, at any resolution, in the frame and scale of the original."""

    resolution: Count = None
    """Voxels along the longest side; by default those of the fit."""


OPTIONS: dict[str, type[Render]] = {"image": RenderImage, "audio": RenderAudio, "shape": RenderShape}


def options_for(words: Sequence[str]) -> type[Any]:
    """The options for the kind of field that `words` name."""
    return OPTIONS.get(kind_of_field(words), RenderImage)


def run(options: Render, terminal: Terminal) -> int:
    """Load, draw, write."""
    if isinstance(options, RenderImage):
        # Before torch is loaded: these need nothing but the text.
        parse_size(options.size)
        parse_crop(options.crop)
    from staf.api import load

    device = device_name(options.device)
    field = load(options.file).to(device)
    match options:
        case RenderAudio():
            out, about = _audio(options, field, device)
        case RenderShape():
            out, about = _shape(options, field)
        case _:
            assert isinstance(options, RenderImage)
            out, about = _image(options, field, device)
    terminal.say(f"{out}: " + ", ".join(f"{value:,} {name}" for name, value in about.items()))
    terminal.finish({"verb": "render", "file": str(options.file), "out": str(out), **about})
    return 0


def _image(options: RenderImage, field: FittedField, device: str) -> tuple[Path, dict[str, int]]:
    from staf.signals import view

    convention: Any = field.convention
    how: Any = {
        "crop": parse_crop(options.crop),
        "size": parse_size(options.size),
        "scale": options.scale,
        "convention": convention,
    }
    with edge():
        height, width = view(field.signal.shape, **how).shape
    out = _out(options, f"-{width}x{height}.png")
    field.signal.render_file(field.predict, out, device=device, **how)
    return out, {"width": width, "height": height}


def _audio(options: RenderAudio, field: FittedField, device: str) -> tuple[Path, dict[str, int]]:
    rate = options.rate if options.rate is not None else field.signal.rate
    out = _out(options, f"-{rate}Hz.wav")
    sound = field.render(rate=options.rate, start=options.start or 0.0, stop=options.stop, device=device)
    sound.save(out)
    return out, {"samples": len(sound.array), "rate": sound.rate}


def _shape(options: RenderShape, field: FittedField) -> tuple[Path, dict[str, int]]:
    if options.resolution is not None and options.resolution < 2:
        raise UserError(f"--resolution must be at least 2, got {options.resolution}")
    out = _out(options, f"-{options.resolution or field.signal.resolution}.ply")
    shape = field.render(resolution=options.resolution)
    shape.save(out)
    return out, {"vertices": len(shape.mesh.vertices), "faces": len(shape.mesh.faces)}


def _out(options: Render, suffix: str) -> Path:
    out = options.out or options.file.with_name(options.file.stem + suffix)
    prepare_file(out, overwrite=options.overwrite)
    return out


def parse_size(text: str | None) -> tuple[int, int] | None:
    """Width and height.

    >>> parse_size("640x480")
    (640, 480)
    """
    if text is None:
        return None
    parts = text.lower().replace("\u00d7", "x").split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UserError(f"--size must be WIDTHxHEIGHT in whole pixels, such as 1920x1080, got {text!r}")
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
        raise UserError(f"--crop must be LEFT,TOP,RIGHT,BOTTOM in pixels, such as 0,0,64,64, got {text!r}") from None
    return left, top, right, bottom
