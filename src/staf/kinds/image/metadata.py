"""What a file says of an image, checked: it may come from a stranger."""

from __future__ import annotations

import base64
import math
from typing import NamedTuple

import numpy as np

from staf._documents import Entries
from staf.kinds.image.pixels import CHANNELS, DTYPES
from staf.signals.errors import SignalError


class ImageMetadata(NamedTuple):
    """All of an image but its pixels."""

    name: str
    shape: tuple[int, int]
    channels: int
    dtype: np.dtype
    value_range: tuple[float, float]
    profile: bytes | None
    notes: list[str]


def parsed_metadata(metadata: Entries) -> ImageMetadata:
    """The metadata that `Image.metadata` wrote; what no image has is refused."""
    try:
        if metadata["kind"] != "image":
            raise SignalError(f"metadata must be of kind 'image', got {metadata['kind']!r}")
        height, width = (int(size) for size in metadata["shape"])
        channels, dtype = int(metadata["channels"]), str(metadata["dtype"])
        low, high = (float(end) for end in metadata["value_range"])
        profile = None if metadata["profile"] is None else base64.b64decode(metadata["profile"], validate=True)
        name, notes = str(metadata["name"]), [str(note) for note in metadata["notes"]]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SignalError):
            raise
        raise SignalError(f"metadata of an image is incomplete or malformed: {error!r}") from error
    if height < 1 or width < 1 or channels not in CHANNELS or dtype not in DTYPES:
        raise SignalError(f"metadata describes no image: {height}x{width}, {channels} channels of {dtype}")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise SignalError(f"value_range in metadata must be an increasing pair of numbers, got {low}, {high}")
    return ImageMetadata(name, (height, width), channels, np.dtype(dtype), (low, high), profile, notes)
