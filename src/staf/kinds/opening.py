"""`open`: a signal from whatever the user has."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from staf._extras import MissingExtra
from staf.kinds.formats import readable, recognise
from staf.kinds.plain_arrays import plain_array
from staf.kinds.registry import Kind, kind_of_folder, kinds, resolve
from staf.kinds.remote import open_url
from staf.signals.base import Signal
from staf.signals.errors import SignalError, damage_named

if TYPE_CHECKING:
    import PIL.Image

MAX_PIXELS = 400_000_000


# The kind of signal depends on what the file holds, so that the type of the result cannot be told before.
def open(
    source: str | os.PathLike[str] | np.ndarray | Tensor | PIL.Image.Image | Signal,
    *,
    name: str | None = None,
    kind: str | None = None,
    layout: str | None = None,
    max_pixels: int = MAX_PIXELS,
) -> Any:
    """Opens a signal by what it is: a file (told by its first bytes, not its suffix), an array, a tensor, a picture.

    Arrays (h, w) and (h, w, 1 to 4 channels) are images, except for integers other than uint8 and uint16. All other
    arrays are grids: 1 to 4 axes, and a last axis of at most 16 entries is taken as channels. `kind` and `layout` say
    otherwise.

    Args:
        source: a path; a URL that fsspec opens (`staf[cluster]`); a numpy array; a tensor; a Pillow image; a signal,
            which comes back as it is.
        name: what to call it; by default the file's name without its suffix, or the name of its kind.
        kind: the kind of signal ("image", "grid", ...) where the data could be of several.
        layout: for images "hwc" or "chw": arrays are (h, w, c) unless told otherwise; for a tensor the channels are the
            one axis, first or last, of size 1 to 4, and where both are this argument is required. For grids
            "channels-last", "channels-first" or "no-channels". Not for files.
        max_pixels: files whose header announces more pixels (audio: samples) are refused before anything is decoded.

    Raises:
        SignalError: whatever the user can act on, in one sentence.

    >>> open(np.zeros((2, 3), np.uint8)), open(np.zeros((2, 3), np.uint8), kind="grid")
    (Image('image', 3x2 grey, uint8), Grid('grid', 2x3, 1 channel, uint8))
    """
    if max_pixels < 1:
        raise SignalError(f"max_pixels must be at least 1, got {max_pixels}")
    if kind is not None and kind not in kinds():
        raise SignalError(f"kind must be one of {', '.join(kinds())}, got {kind!r}")
    if isinstance(source, (str, os.PathLike)):
        if layout is not None:
            raise SignalError(f"layout is for arrays and tensors, got layout={layout!r} for the file {str(source)!r}")
        if isinstance(source, str) and "://" in source:
            return open_url(source, lambda path: _open_file(path, name, kind, max_pixels))
        return _open_file(Path(source), name, kind, max_pixels)
    if isinstance(source, Signal):
        renamed = copy.copy(source)
        renamed.name = source.name if name is None else name
        return renamed
    if isinstance(source, np.ndarray):
        source = plain_array(source, "the array")
    asked = [known for known in kinds().values() if known.opens is not None and kind in (None, known.name)]
    if layout is not None:
        layouts = [name for known in asked for name in known.layouts]
        if layout not in layouts:
            raise SignalError(f"layout must be one of {', '.join(layouts)}, got {layout!r}")
        asked = [known for known in asked if layout in known.layouts]
    for known in asked:
        if known.opens is not None:
            signal = resolve(known.opens)(source, name, layout)
            if signal is not None:
                return signal
    if kind is not None and isinstance(source, (np.ndarray, Tensor)):
        return _forced(source, name, kinds()[kind])
    wanted = "" if kind is None else f" for kind {kind!r}"
    raise SignalError(
        f"source must be a path, an array, a tensor or a Pillow image{wanted}, got {type(source).__name__}"
    )


def _forced(source: np.ndarray | Tensor, name: str | None, kind: Kind) -> Signal:
    """An array as the kind that was asked for though its shape is another's, or the reason why it cannot be."""
    if kind.opens is not None:
        for layout in kind.layouts:
            signal = resolve(kind.opens)(source, name, layout)
            if signal is not None:
                return signal
    raise SignalError(
        f"an array of shape {tuple(source.shape)} is not opened as kind {kind.name!r}: use {kind.class_name}(...)"
    )


def _open_file(path: Path, name: str | None, kind: str | None, max_pixels: int) -> Signal:
    try:
        if not path.exists():
            # The command makes paths of what it is given, which joins the slashes of a URL.
            raise SignalError(f"there is no such file{': download it first' if ':/' in str(path) else ''}")
        signal = _read_folder(path, kind, max_pixels) if path.is_dir() else _read_file(path, kind, max_pixels)
    except OSError as error:
        raise SignalError(f"cannot open {str(path)!r}: {error.strerror or error}") from error
    except MissingExtra as error:
        raise MissingExtra(f"cannot open {str(path)!r}: {error}", name=error.name) from error
    except MemoryError as error:
        raise SignalError(f"cannot open {str(path)!r}: there is not enough memory for it") from error
    except (SignalError, ValueError) as error:
        raise SignalError(f"cannot open {str(path)!r}: {error}") from error
    # The folder's own name where the path is "." or ends in "..".
    signal.name = (path.resolve().name if path.is_dir() else path.stem) if name is None else name
    signal.source = str(path)
    return signal


def _read_file(path: Path, kind: str | None, max_pixels: int) -> Signal:
    if not path.is_file():
        raise SignalError("it is not a regular file")
    with path.open("rb") as file:
        if not file.read(1):
            raise SignalError("the file is empty")
        format = recognise(file, path.suffix, kind)
    if format is None:
        if path.suffix.lower() == ".json" and (found := kind_of_folder(path.parent)) is not None:
            raise SignalError(f"a {found.name} is opened by its folder, {str(path.parent)!r}")
        wanted = "" if kind is None else f" of kind {kind!r}"
        raise SignalError(
            f"its first bytes are those of no known format{wanted}; this version reads {readable(kind) or readable()}"
        )
    if format.reader is None:
        known = readable(format.kind) or readable()
        raise SignalError(f"it is {format.name} ({format.kind}), which is not read: convert it to one of {known}")
    with damage_named(format.name):
        return format.load_reader()(path, max_pixels)


def _read_folder(path: Path, kind: str | None, max_pixels: int) -> Signal:
    found = kind_of_folder(path)
    if found is None or kind not in (None, found.name) or found.folder_reader is None:
        known = "; ".join(
            f"one of a {known.name} has {' or '.join(known.folder_marks)}"
            for known in kinds().values()
            if known.folder_marks and kind in (None, known.name)
        )
        many = "; staf fit-many (staf.fit_many) fits each file of a folder" if kind is None else ""
        raise SignalError("it is a folder" + (f", and {known}" if known else "") + many)
    with damage_named(found.name):
        return resolve(found.folder_reader)(path, max_pixels)
