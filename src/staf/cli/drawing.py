"""What `render` and `export` share: a fitted field written as a file of its kind.

Whatever can be refused is refused before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from staf.cli.counting import Counting
from staf.cli.errors import UserError, edge

if TYPE_CHECKING:
    from staf.api import FittedField

# How a kind of signal is called in a message.
NOUNS = {"image": "picture", "audio": "recording", "shape": "shape"}


def suffixes(kind: str) -> tuple[str, ...]:
    """The suffixes that a fitted signal of a kind can be written with.

    >>> suffixes("shape")
    ('.ply', '.obj', '.stl', '.glb', '.off')
    """
    if kind == "image":
        from staf.kinds.image.writing import FORMATS as IMAGES

        return tuple(IMAGES)
    if kind == "audio":
        import soundfile

        from staf.kinds.audio.files import FORMATS as SOUNDS

        there = soundfile.available_formats()
        return tuple(suffix for suffix, format in SOUNDS.items() if format in there)
    from staf.kinds.shape.mesh_writing import WRITERS

    return tuple(WRITERS)


def check_suffix(kind: str, out: Path, *, also: tuple[str, ...] = ()) -> None:
    """Refuse a file name whose suffix no format of the kind has."""
    known = suffixes(kind) + also
    if out.suffix.lower() not in known:
        raise UserError(f"a fitted {NOUNS[kind]} is written as {', '.join(known)}, by the suffix; got {str(out)!r}")


def check_resolution(resolution: int | None) -> None:
    """Voxels along the longest side, where they are given."""
    if resolution is not None and resolution < 2:
        raise UserError(f"--resolution must be at least 2, got {resolution}")


def write_signal(
    field: FittedField, out: Path, how: Mapping[str, Any], *, device: str, title: str, show: bool
) -> dict[str, int]:
    """Write what `how` (arguments of the signal's `render`) says of a field, and tell its size."""
    signal = field.signal
    if signal.kind == "image":
        with edge():
            height, width = size(field, how)
        with Counting(title, height * width, show=show) as count:
            predict = count.watched(field.predict)
            signal.render_file(predict, out, convention=field.convention, device=device, **how)
        return {"width": width, "height": height}
    if signal.kind == "audio":
        from staf.kinds.audio.files import check_format

        check_format(out, signal.out_features, how.get("rate") or signal.rate)
    drawn = _rendered(field, how, device=device, title=title, show=show)
    drawn.save(out)
    if signal.kind == "audio":
        return {"samples": drawn.samples, "rate": drawn.rate}
    return {"vertices": len(drawn.mesh.vertices), "faces": len(drawn.mesh.faces)}


def write_picture(
    field: FittedField,
    out: Path,
    how: Mapping[str, Any],
    camera: Mapping[str, Any],
    *,
    device: str,
    title: str,
    show: bool,
) -> dict[str, int]:
    """Write a shaded picture of a fitted shape; `camera` holds arguments of `Shape.picture`."""
    picture = _rendered(field, how, device=device, title=title, show=show).picture(**camera)
    picture.save(out)
    return {"width": picture.width, "height": picture.height}


def _rendered(field: FittedField, how: Mapping[str, Any], *, device: str, title: str, show: bool) -> Any:
    """A recording or a shape, counted point by point."""
    signal = field.signal
    if signal.kind == "audio":
        total, how = round(signal.seconds * (how.get("rate") or signal.rate)), {**how, "device": device}
    else:
        total = math.prod(signal.frame.counts(how.get("resolution")))
    with Counting(title, total, show=show) as count:
        return signal.render(count.watched(field.predict), convention=field.convention, **how)


def in_words(about: Mapping[str, int]) -> str:
    """The size of what was written.

    >>> in_words({"width": 640, "height": 480}), in_words({"samples": 8000, "rate": 44100})
    ('640x480 pixels', '8,000 samples at 44,100 Hz')
    """
    match about:
        case {"width": width, "height": height}:
            return f"{width}x{height} pixels"
        case {"samples": samples, "rate": rate}:
            return f"{samples:,} samples at {rate:,} Hz"
        case _:
            return ", ".join(f"{value:,} {name}" for name, value in about.items())


def size(field: FittedField, how: Mapping[str, Any]) -> tuple[int, int]:
    """Rows and columns of a picture."""
    from staf.signals import view

    convention: Any = field.convention
    return view(field.signal.shape, convention=convention, **how).shape
