"""Views of a scene into files, whole or not at all: a picture, a sheet of pictures, a film, or arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from torch import Tensor

from staf.kinds.scene.formats import ARRAYS, FILMS, PICTURES
from staf.kinds.scene.reading import Views
from staf.kinds.video.films import write_film
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError

FRAMES_PER_SECOND = {".mp4": 30, ".gif": 25}
# The films whose frames are not needed together.
ONE_BY_ONE = ".mp4"
# The longest side of a sheet of pictures.
LARGEST_SHEET = 16_384
WHITE, GREY_LEVELS = 255, 65_535


def write_views(views: Views, path: str | os.PathLike[str], *, depth: bool = False) -> Path:
    """Write pictures in the format of the suffix: one picture or a sheet of several, a film, or an NPZ.

    With `depth`, pictures of the depth in grey: white is nearest, black is nothing.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in ARRAYS:
        return _write_arrays(views, path)
    pictures = depth_pictures(views) if depth else views.pixels.numpy()
    if suffix in PICTURES:
        from staf.kinds.image.signal import Image

        # Black is nothing in pictures of depth.
        whole = sheet(pictures, empty=0 if depth else WHITE)
        eight = depth and suffix in (".jpg", ".jpeg", ".webp")
        return Image((whole >> 8).astype(np.uint8) if eight else whole).save(path)
    if suffix not in FILMS:
        raise SignalError(f"views are written as {', '.join((*PICTURES, *FILMS, *ARRAYS))}, got {path.name!r}")
    frames = np.repeat((pictures >> 8).astype(np.uint8), 3, axis=-1) if depth else pictures[..., :3]
    return write_film(path, frames, FRAMES_PER_SECOND[suffix], len(frames))


def write_one_by_one(pictures: Iterator[tuple[Tensor, Tensor]], path: Path, count: int) -> Path:
    """Write an MP4 of pictures and depths (`draw`), of which one is in memory at a time."""
    colours = (colour.numpy() for colour, _ in pictures)
    return write_film(path, colours, FRAMES_PER_SECOND[ONE_BY_ONE], count)


def sheet(pictures: np.ndarray, empty: int = WHITE) -> np.ndarray:
    """Pictures (v, h, w, c) in rows, in as small a square as holds them; places without one are `empty`.

    >>> sheet(np.zeros((5, 2, 3, 3), np.uint8)).shape
    (6, 6, 3)
    """
    count, height, width, channels = pictures.shape
    columns = min(range(count, 0, -1), key=lambda across: max(across * width, math.ceil(count / across) * height))
    rows = math.ceil(count / columns)
    if max(rows * height, columns * width) > LARGEST_SHEET:
        raise SignalError(
            f"{count} pictures of {width}x{height} are too many for one sheet: write a film (.mp4 or .gif) or fewer"
        )
    missing = np.full((rows * columns - count, height, width, channels), empty, pictures.dtype)
    grid = np.concatenate([pictures, missing]).reshape(rows, columns, height, width, channels)
    return np.ascontiguousarray(grid.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels))


def depth_pictures(views: Views) -> np.ndarray:
    """Depths as grey pictures (v, h, w, 1) of 16 bits on one scale: white is the nearest, black is nothing."""
    if views.depths is None:
        raise SignalError("these views are photos and have no depth: render them from a fitted scene")
    depths = views.depths.numpy()
    seen = depths > 0
    if not seen.any():
        return np.zeros((*depths.shape, 1), np.uint16)
    near, far = np.quantile(depths[seen], 0.01), np.quantile(depths[seen], 0.99)
    share = np.clip((far - depths) / max(far - near, 1e-9), 0, 1)
    # What is seen farthest is still lighter than nothing.
    levels = np.where(seen, 0.1 + 0.9 * share, 0)
    return np.rint(GREY_LEVELS * levels).astype(np.uint16)[..., None]


def _write_arrays(views: Views, path: Path) -> Path:
    cameras = views.cameras
    arrays = {name: getattr(cameras, name).numpy() for name in ("poses", "focal", "centre")}
    if cameras.distortion is not None:
        arrays["distortion"] = cameras.distortion.numpy()
    if views.depths is not None:
        arrays["depths"] = views.depths.numpy()
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, pixels=views.pixels.numpy(), **arrays)
    return path
