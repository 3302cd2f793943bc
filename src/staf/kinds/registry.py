"""The kinds of signal, and how one is rebuilt from what a file says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staf.kinds.audio.signal import Audio
from staf.kinds.image.signal import Image
from staf.kinds.shape.signal import Shape
from staf.signals.errors import SignalError

KINDS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "image": Image.from_metadata,
    "audio": Audio.from_metadata,
    "shape": Shape.from_metadata,
}


def from_metadata(metadata: Mapping[str, Any]) -> Any:
    """The empty signal that `metadata` describes: it renders like the one that wrote it, and holds no data.

    >>> import numpy as np
    >>> from_metadata(Image(np.zeros((2, 3), np.uint8)).metadata())
    Image('image', 3x2 grey, uint8, no pixels)
    """
    if not isinstance(metadata, Mapping):
        raise SignalError(f"the metadata of a signal must be a dictionary, got {metadata!r}")
    kind = metadata.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SignalError(f"the kind of a signal must be one of {', '.join(KINDS)}, got {kind!r}")
    try:
        return KINDS[kind](metadata)
    except OverflowError as error:
        raise SignalError(f"metadata of {kind} holds a number out of range: {error}") from None
