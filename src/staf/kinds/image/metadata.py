"""What a file says of an image, checked: it may come from a stranger."""

from __future__ import annotations

import base64
from typing import NamedTuple

import numpy as np

from staf._documents import Entries, Record
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
        record = Record(metadata)
        if record.get("kind") != "image":
            raise SignalError(f"metadata must be of kind 'image', got {metadata['kind']!r}")
        height, width = record.grid("shape", range(2, 3))
        channels, dtype = record.whole("channels"), record.text("dtype")
        low, high = record.numbers("value_range", 2)
        embedded = record.get("profile")
        profile = None if embedded is None else base64.b64decode(embedded, validate=True)
        name, notes = record.text("name"), record.texts("notes")
    except (TypeError, ValueError) as error:
        if isinstance(error, SignalError):
            raise
        raise SignalError(f"metadata of an image is incomplete or malformed: {error}") from error
    if channels not in CHANNELS or dtype not in DTYPES:
        raise SignalError(f"metadata describes no image: {height}x{width}, {channels} channels of {dtype}")
    if low >= high:
        raise SignalError(f"value_range in metadata must be an increasing pair of numbers, got {low}, {high}")
    return ImageMetadata(name, (height, width), channels, np.dtype(dtype), (low, high), profile, notes)
