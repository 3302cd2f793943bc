"""Tiled, pyramidal TIFF: an image with smaller copies of itself, so that viewers show any part at any zoom at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from staf._extras import need
from staf.kinds.image.writing import format_of
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.image.signal import Image

TILE = 512


def write_pyramid(
    image: Image, bands: Iterable[np.ndarray], shape: tuple[int, int], path: str | os.PathLike[str], tile: int = TILE
) -> Path:
    """Stream bands (k, w, c) of `image`'s own type, which make up `shape` (h, w), into a pyramidal TIFF.

    Tiles have `tile` pixels a side, a multiple of 16. Each level has half the side of the one before, by means of 2x2
    pixels, down to one tile; levels are SubIFDs of the first page. The levels are gathered in a scratch file beside
    `path`, so that memory holds a row of tiles. `image` gives the type and profile.
    """
    if format_of(path) != "TIFF":
        raise SignalError(f"a pyramid is written as .tif or .tiff, got {str(path)!r}")
    tifffile = need("image", "tifffile")
    full = (*shape, image.out_features)
    levels = 0
    while max(shape) > tile << levels:
        levels += 1
    with atomic_path(path) as temporary:
        folder = temporary.parent
        bigtiff = full[0] * full[1] * full[2] * image.dtype.itemsize > 2 << 30
        with tifffile.TiffWriter(temporary, bigtiff=bigtiff, byteorder="<") as writer:
            level = _gathered(bands, full, image.dtype, folder)
            for number in range(levels + 1):
                _write_level(writer, level, tile, image.profile, subifds=levels if number == 0 else 0, top=number == 0)
                if number < levels:
                    level = _halved(level, tile, folder)
    return Path(path)


def _scratch(shape: tuple[int, ...], dtype: np.dtype, folder: Path) -> np.ndarray:
    """An array in a file without a name, which is gone with the array."""
    with tempfile.TemporaryFile(prefix=".staf-", dir=folder) as file:
        file.truncate(int(np.prod(shape)) * dtype.itemsize)
        return np.memmap(file, dtype, mode="r+", shape=shape)


def _gathered(bands: Iterable[np.ndarray], shape: tuple[int, int, int], dtype: np.dtype, folder: Path) -> np.ndarray:
    whole, top = _scratch(shape, dtype, folder), 0
    for band in bands:
        whole[top : top + len(band)] = band
        top += len(band)
    if top != shape[0]:
        raise SignalError(f"bands must make up {shape[0]} rows, got {top}")
    return whole


def _halved(level: np.ndarray, tile: int, folder: Path) -> np.ndarray:
    """Means of 2x2 pixels, rounded for integers; the last row or column of an odd side is its own neighbour."""
    height, width, channels = level.shape
    half = _scratch((-(-height // 2), -(-width // 2), channels), level.dtype, folder)
    for top in range(0, len(half), tile):
        rows = level[2 * top : 2 * (top + tile)]
        padded = np.pad(rows, ((0, len(rows) % 2), (0, width % 2), (0, 0)), mode="edge")
        blocks = padded.reshape(len(padded) // 2, 2, padded.shape[1] // 2, 2, channels).astype(np.float32)
        mean = blocks.mean((1, 3))
        half[top : top + tile] = mean if level.dtype.kind == "f" else np.rint(mean).astype(level.dtype)
    return half


def _write_level(writer: Any, level: np.ndarray, tile: int, profile: bytes | None, *, subifds: int, top: bool) -> None:
    channels = level.shape[2]
    writer.write(
        _tiles(level, tile),
        shape=level.shape if channels > 1 else level.shape[:2],
        dtype=level.dtype.newbyteorder("<"),
        tile=(tile, tile),
        photometric="rgb" if channels > 2 else "minisblack",
        planarconfig="contig" if channels > 1 else None,
        extrasamples=("unassalpha",) if channels in (2, 4) else None,
        compression="zlib",
        predictor=level.dtype.kind == "u",
        iccprofile=profile if top else None,
        subfiletype=0 if top else 1,
        subifds=subifds or None,
        metadata=None,
        software=False,
    )


def _tiles(level: np.ndarray, tile: int) -> Iterator[np.ndarray]:
    """Tiles from the top left, row by row; those at the right and bottom edge are filled up by the edge."""
    height, width, channels = level.shape
    for top in range(0, height, tile):
        for left in range(0, width, tile):
            part = level[top : top + tile, left : left + tile]
            missing = ((0, tile - part.shape[0]), (0, tile - part.shape[1]), (0, 0))
            filled = np.pad(part, missing, mode="edge")
            yield filled if channels > 1 else filled[..., 0]
