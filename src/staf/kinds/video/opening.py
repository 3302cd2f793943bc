"""A part of a video file, found by its format and refused in the words of `staf.open`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from staf._extras import MissingExtra
from staf.kinds.formats import recognise
from staf.kinds.video.reading import Part
from staf.signals.errors import SignalError, damage_named

if TYPE_CHECKING:
    from staf.kinds.video.signal import Video

PartReader = Callable[[Path, int, Part], "Video"]


def open_part(path: Path, part: Part, limit: int) -> Video:
    """The `part` of the video at `path`, of at most `limit` pixels over all frames."""
    try:
        with open(path, "rb") as file:
            size, format = os.fstat(file.fileno()).st_size, recognise(file, path.suffix, "video")
        if not size:
            raise SignalError("the file is empty")
        if format is None:
            raise SignalError("its first bytes are those of no video: MP4, MOV, WebM, Matroska, AVI or GIF")
        with damage_named(format.name):
            video = cast(PartReader, format.load_reader())(path, limit, part)
    except OSError as error:
        raise SignalError(f"cannot open {str(path)!r}: {error.strerror or error}") from error
    except MissingExtra as error:
        raise MissingExtra(f"cannot open {str(path)!r}: {error}", name=error.name) from error
    except SignalError as error:
        raise SignalError(f"cannot open {str(path)!r}: {error}") from error
    video.name, video.source, video.part = path.stem, str(path), part
    return video
