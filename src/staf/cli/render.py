"""`staf render FILE`: draw a fitted field: a picture at any scale, size or crop, a part of a recording, a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from staf.cli.drawing import check_resolution, check_suffix, in_words, size, write_picture, write_signal
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
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr where it takes long, which is the default, or not."""


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
    """Make a mesh of a fitted shape, at any resolution, in the frame and scale of the original, or a picture of it.

    An --out that ends in .png, .tif, .tiff or .webp is a shaded picture, drawn without a screen.
    """

    resolution: Count = None
    """Voxels along the longest side; by default those of the fit."""
    pixels: Count = None
    """Side of a picture (512 if not given)."""
    azimuth: Number = None
    """Degrees around the upward axis from which a picture is seen (30 if not given)."""
    elevation: Number = None
    """Degrees above from which a picture is seen (15 if not given)."""
    up: Annotated[Literal["x", "y", "z"] | None, arg(help_behavior_hint="")] = None
    """The axis that is upward in a picture (y if not given)."""


# Formats of a shape's picture, which is transparent around the shape.
PICTURES = (".png", ".tif", ".tiff", ".webp")
OPTIONS: dict[str, type[Render]] = {"image": RenderImage, "audio": RenderAudio, "shape": RenderShape}


def options_for(words: Sequence[str]) -> type[Any]:
    """The options for the kind of field that `words` name."""
    return OPTIONS.get(kind_of_field(words), RenderImage)


def run(options: Render, terminal: Terminal) -> int:
    """Load, draw, write."""
    how = _how(options)
    from staf.api import load

    device = device_name(options.device)
    field = load(options.file).to(device)
    out = options.out or options.file.with_name(options.file.stem + _ending(options, field, how))
    check_suffix(field.signal.kind, out, also=PICTURES if isinstance(options, RenderShape) else ())
    prepare_file(out, overwrite=options.overwrite)
    if isinstance(options, RenderShape) and out.suffix.lower() in PICTURES:
        about = write_picture(field, out, how, _camera(options), device=device, title="render", show=options.progress)
    else:
        about = write_signal(field, out, how, device=device, title="render", show=options.progress)
    terminal.say(f"{out}: {in_words(about)}")
    terminal.finish({"verb": "render", "file": str(options.file), "out": str(out), **about})
    return 0


def _camera(options: RenderShape) -> dict[str, Any]:
    """What was said of a shape's picture."""
    names = {"size": options.pixels, "azimuth": options.azimuth, "elevation": options.elevation, "up": options.up}
    return {name: value for name, value in names.items() if value is not None}


def _how(options: Render) -> dict[str, Any]:
    """The arguments of the signal's `render`; checked before torch is loaded."""
    match options:
        case RenderAudio():
            return {"rate": options.rate, "start": options.start or 0.0, "stop": options.stop}
        case RenderShape():
            check_resolution(options.resolution)
            _check_camera(options)
            return {"resolution": options.resolution}
        case _:
            assert isinstance(options, RenderImage)
            return {"crop": parse_crop(options.crop), "size": parse_size(options.size), "scale": options.scale}


def _check_camera(options: RenderShape) -> None:
    if options.pixels is not None and options.pixels < 8:
        raise UserError(f"--pixels must be at least 8, got {options.pixels}")
    drawn = options.out is not None and options.out.suffix.lower() in PICTURES
    if _camera(options) and not drawn:
        raise UserError(
            f"--pixels, --azimuth, --elevation and --up are of a picture: name one with --out, ending in "
            f"{', '.join(PICTURES)}"
        )


def _ending(options: Render, field: FittedField, how: dict[str, Any]) -> str:
    """How the file is called where the user does not say."""
    match options:
        case RenderAudio():
            return f"-{options.rate or field.signal.rate}Hz.wav"
        case RenderShape():
            return f"-{options.resolution or field.signal.resolution}.ply"
        case _:
            with edge():
                height, width = size(field, how)
            return f"-{width}x{height}.png"


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
