"""`open`: a signal from whatever the user has."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from staf.kinds.audio.signal import Audio
from staf.kinds.formats import HEAD_BYTES, readable, recognise
from staf.kinds.image.conversion import Layout, image_from_array, image_from_pil, image_from_tensor
from staf.kinds.image.signal import Image
from staf.kinds.limits import damage_named, one_line
from staf.kinds.shape.signal import Shape
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    import PIL.Image

MAX_PIXELS = 400_000_000


def open(
    source: str | os.PathLike[str] | np.ndarray | Tensor | PIL.Image.Image | Image | Audio | Shape,
    *,
    name: str | None = None,
    layout: Layout | None = None,
    max_pixels: int = MAX_PIXELS,
) -> Any:
    """Opens a signal by what it is: a file (told by its first bytes, not its suffix), an array, a tensor, a picture.

    Args:
        source: a path; a numpy array (h, w) or (h, w, c); a tensor (h, w), (h, w, c) or (c, h, w); a Pillow image;
            an `Image`, `Audio` or `Shape`, which comes back as it is.
        name: what to call it; by default the file's name without its suffix, or "image".
        layout: "hwc" or "chw" for arrays and tensors. Arrays are (h, w, c) unless told otherwise; for a tensor the
            channels are the one axis, first or last, of size 1 to 4, and where both are this argument is required.
        max_pixels: files whose header announces more pixels (audio: samples) are refused before anything is decoded.

    Raises:
        SignalError: whatever the user can act on, in one sentence.

    >>> open(np.zeros((2, 3), np.uint8))
    Image('image', 3x2 grey, uint8)
    """
    if max_pixels < 1:
        raise SignalError(f"max_pixels must be at least 1, got {max_pixels}")
    if isinstance(source, (str, os.PathLike)):
        if layout is not None:
            raise SignalError(f"layout is for arrays and tensors, got layout={layout!r} for the file {str(source)!r}")
        return _open_file(Path(source), name, max_pixels)
    if isinstance(source, (Image, Audio, Shape)):
        renamed = copy.copy(source)
        renamed.name = source.name if name is None else name
        return renamed
    name = "image" if name is None else name
    if isinstance(source, Tensor):
        return image_from_tensor(source, layout=layout, name=name)
    if isinstance(source, np.ndarray):
        return image_from_array(source, layout=layout, name=name)
    pillow: Any = sys.modules.get("PIL.Image")
    if pillow is not None and isinstance(source, pillow.Image):
        with damage_named("picture"):
            return image_from_pil(source, name=name)
    raise SignalError(f"source must be a path, an array, a tensor or a Pillow image, got {type(source).__name__}")


def _open_file(path: Path, name: str | None, max_pixels: int) -> Any:
    try:
        if not path.exists():
            raise SignalError("there is no such file")
        if path.is_dir():
            raise SignalError("it is a folder")
        if not path.is_file():
            raise SignalError("it is not a regular file")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if not head:
            raise SignalError("the file is empty")
        format = recognise(head, path.suffix)
        if format is None:
            raise SignalError(f"its first bytes are those of no known format; this version reads {readable()}")
        if format.reader is None:
            raise SignalError(f"it is {format.name} ({format.kind}), and this version reads {readable()}")
        with damage_named(format.name):
            signal = format.load_reader()(path, max_pixels)
    except OSError as error:
        raise SignalError(f"cannot open {str(path)!r}: {error.strerror or error}") from error
    except MemoryError as error:
        raise SignalError(f"cannot open {str(path)!r}: there is not enough memory for it") from error
    except (SignalError, ValueError) as error:
        raise SignalError(f"cannot open {str(path)!r}: {one_line(error)}") from error
    signal.name = path.stem if name is None else name
    signal.source = str(path)
    return signal
