"""Views of a scene into files, whole or not at all: a picture, a sheet of pictures, a film, or arrays."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from staf._extras import need
from staf.kinds.scene.formats import ARRAYS, FILMS, PICTURES
from staf.kinds.scene.reading import Views
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError

FRAMES_PER_SECOND = {".mp4": 30, ".gif": 25}
# The longest side of a sheet of pictures.
LARGEST_SHEET = 16_384
GREY_LEVELS = 65_535


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

        eight = depth and suffix in (".jpg", ".jpeg", ".webp")
        return Image((sheet(pictures) >> 8).astype(np.uint8) if eight else sheet(pictures)).save(path)
    if suffix not in FILMS:
        raise SignalError(f"views are written as {', '.join((*PICTURES, *FILMS, *ARRAYS))}, got {path.name!r}")
    frames = np.repeat((pictures >> 8).astype(np.uint8), 3, axis=-1) if depth else pictures[..., :3]
    data = _mp4(frames) if suffix == ".mp4" else _gif(frames)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
    return path


def sheet(pictures: np.ndarray) -> np.ndarray:
    """Pictures (v, h, w, c) in rows, in as small a square as holds them; empty places are white.

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
    empty = np.full((rows * columns - count, height, width, channels), np.iinfo(pictures.dtype).max, pictures.dtype)
    grid = np.concatenate([pictures, empty]).reshape(rows, columns, height, width, channels)
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
    if views.depths is not None:
        arrays["depths"] = views.depths.numpy()
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, pixels=views.pixels.numpy(), **arrays)
    return path


def _gif(frames: np.ndarray) -> bytes:
    import PIL.Image

    pictures = [PIL.Image.fromarray(frame) for frame in frames]
    buffer = io.BytesIO()
    duration = 1000 // FRAMES_PER_SECOND[".gif"]
    pictures[0].save(buffer, "GIF", save_all=True, append_images=pictures[1:], duration=duration, loop=0)
    return buffer.getvalue()


def _mp4(frames: Sequence[np.ndarray] | np.ndarray) -> bytes:
    av = need("scene", "av")
    # H.264 with 4:2:0 colour has sides of even length.
    height, width = (side - side % 2 for side in frames[0].shape[:2])
    if min(height, width) < 2:
        raise SignalError(f"a film must have at least 2x2 pixels, got {frames[0].shape[1]}x{frames[0].shape[0]}")
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FRAMES_PER_SECOND[".mp4"])
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"crf": "18"}
        for frame in frames:
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame[:height, :width]), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return buffer.getvalue()
