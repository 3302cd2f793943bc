"""Which cameras a rendering is of: those that were held out, a path around the scene, or given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from staf.kinds.scene.cameras import Cameras, orbit
from staf.kinds.scene.checks import whole
from staf.signals.errors import SignalError

PathName = Literal["orbit"]
FRAMES = 120


def chosen_cameras(
    kept: Cameras,
    path: PathName | Cameras | None = None,
    *,
    frames: int | None = None,
    size: tuple[int, int] | None = None,
    views: Sequence[int] | None = None,
) -> Cameras:
    """The cameras of a rendering; `kept` are the scene's own, and the rest is as for `Scene.render`."""
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
        cameras = orbit(cameras, whole("frames", FRAMES if frames is None else frames))
    return cameras if size is None else cameras.resized(width=size[0], height=size[1])
