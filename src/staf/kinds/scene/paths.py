"""The cameras of a rendering: the held-out ones, a path around the scene, or given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from staf.kinds.scene.cameras import Cameras, check_size, orbit
from staf.kinds.scene.checks import whole
from staf.signals.errors import SignalError

PathName = Literal["orbit"]
FRAMES = 120
# Pixels of pictures that are kept together, at seven bytes each with their depths.
MOST_TOGETHER = 2**29


def chosen_cameras(
    kept: Cameras,
    path: PathName | Cameras | None = None,
    *,
    frames: int | None = None,
    size: tuple[int, int] | None = None,
    views: Sequence[int] | None = None,
    towards: Sequence[float] = (0.0, 0.0, 0.0),
) -> Cameras:
    """The cameras of a rendering; `kept` are the scene's own, and the rest is as for `Scene.render`.

    An orbit of cameras that all look the same way is around the point of their axes nearest to `towards`.
    """
    if isinstance(path, str) and path != "orbit":
        raise SignalError(f"path must be 'orbit' or cameras, got {path!r}")
    if frames is not None and path != "orbit":
        raise SignalError(f"frames are those of a path: give path='orbit' too, got frames={frames}")
    if views is not None and path is not None:
        raise SignalError("views are those that were held out: give views or a path, not both")
    cameras = path if isinstance(path, Cameras) else kept
    if views is not None:
        if not views or not all(0 <= view < len(cameras) for view in views):
            raise SignalError(f"views must be between 0 and {len(cameras) - 1}, got {list(views)}")
        cameras = cameras.subset(list(views))
    if path == "orbit":
        cameras = orbit(
            cameras, whole("frames", FRAMES if frames is None else frames), torch.tensor(towards, dtype=torch.float64)
        )
    if size is None:
        check_size(cameras.width, cameras.height)
        return cameras
    resized = cameras.resized(width=size[0], height=size[1])
    try:
        resized.check_lenses()
    except SignalError as error:
        raise SignalError(f"size {size[0]}x{size[1]} shows more than the photos do: {error}") from None
    return resized


def check_together(cameras: Cameras) -> None:
    """Refuse more pictures than are kept in memory at once."""
    total = len(cameras) * cameras.height * cameras.width
    if total > MOST_TOGETHER:
        raise SignalError(
            f"{len(cameras):,} pictures of {cameras.width}x{cameras.height} have {total:,} pixels, more than the "
            f"{MOST_TOGETHER:,} that are kept at once: take fewer or smaller ones, or write an .mp4 of their colours, "
            "which is written one by one"
        )
