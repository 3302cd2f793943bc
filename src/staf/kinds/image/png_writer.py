"""PNG written row by row: 8 and 16 bits, 1 to 4 channels, an ICC profile, memory of a few rows."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import BinaryIO

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOUR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}
LARGEST_SIDE = 2**31 - 1


def write_png(
    file: BinaryIO,
    bands: Iterable[np.ndarray],
    shape: tuple[int, int, int],
    dtype: np.dtype,
    *,
    profile: bytes | None = None,
    level: int = 6,
) -> None:
    """Writes bands of rows, each (k, w, c) of `dtype` (uint8 or uint16), that make up `shape` (h, w, c) from the top.

    Pillow holds no 16-bit colour, and whole-array encoders hold all of a huge rendering: hence this one.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> write_png(buffer, [np.zeros((2, 3, 3), np.uint16)], (2, 3, 3), np.dtype(np.uint16))
    >>> buffer.getvalue()[12:16]
    b'IHDR'
    """
    height, width, channels = shape
    file.write(SIGNATURE)
    _chunk(file, b"IHDR", struct.pack(">IIBBBBB", width, height, 8 * dtype.itemsize, COLOUR_TYPE[channels], 0, 0, 0))
    if profile is not None:
        _chunk(file, b"iCCP", b"ICC profile\0\0" + zlib.compress(profile))
    compressor = zlib.compressobj(level)
    above = np.zeros(width * channels * dtype.itemsize, dtype=np.uint8)
    for band in bands:
        rows = np.ascontiguousarray(band.astype(dtype.newbyteorder(">"), copy=False))
        raw = rows.reshape(len(rows), -1).view(np.uint8)
        packed = compressor.compress(_filtered(raw, above, channels * dtype.itemsize).tobytes())
        above = raw[-1].copy()
        if packed:
            _chunk(file, b"IDAT", packed)
    _chunk(file, b"IDAT", compressor.flush())
    _chunk(file, b"IEND", b"")


def _chunk(file: BinaryIO, kind: bytes, data: bytes) -> None:
    file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind))))


def _filtered(raw: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """Rows (k, bytes) each under the one of PNG's filters none, sub, up, Paeth with the least sum of |residual|.

    `above` is the row before the first, and `step` the bytes of one pixel.
    """
    up = np.concatenate([above[None], raw[:-1]])
    left, corner = np.zeros_like(raw), np.zeros_like(raw)
    left[:, step:], corner[:, step:] = raw[:, :-step], up[:, :-step]
    estimate = left.astype(np.int16) + up - corner
    to_left, to_up, to_corner = (np.abs(estimate - neighbour) for neighbour in (left, up, corner))
    paeth = np.where((to_left <= to_up) & (to_left <= to_corner), left, np.where(to_up <= to_corner, up, corner))
    residuals = {0: raw, 1: raw - left, 2: raw - up, 4: raw - paeth}
    cost = np.stack([np.abs(residual.view(np.int8).astype(np.int16)).sum(1) for residual in residuals.values()])
    best = cost.argmin(0)
    out = np.empty((len(raw), 1 + raw.shape[1]), dtype=np.uint8)
    for position, (kind, residual) in enumerate(residuals.items()):
        chosen = best == position
        out[chosen, 0], out[chosen, 1:] = kind, residual[chosen]
    return out
