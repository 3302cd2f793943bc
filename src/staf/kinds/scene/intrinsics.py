"""Cameras of the frames of a transforms.json: poses, focal lengths, centres and lens distortion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from staf.kinds.scene.cameras import Cameras, check_size
from staf.signals.errors import SignalError

LENS = ("k1", "k2", "p1", "p2")
# Terms and models of lenses that are not computed: a photo read without them would be fitted to wrong rays.
OTHER_LENS = ("k3", "k4", "k5", "k6")
# Marks of other lenses in files of instant-ngp.
OTHER_MODELS = ("is_fisheye", "ftheta_p1", "latlong", "equirectangular")
# Beyond it float32 and pixels have nothing to do with each other.
LARGEST = 1e18
CAMERA_MODELS = ("OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "RADIAL", "SIMPLE_RADIAL", "PERSPECTIVE")


@dataclass(frozen=True)
class Frame:
    """One photo as its file of poses describes it; `where` names it in messages."""

    path: Path
    pose: np.ndarray
    numbers: Mapping[str, object]
    where: str


def cameras_of(document: Mapping[str, object], frames: Sequence[Frame], height: int, width: int) -> Cameras:
    """The cameras of frames, for pictures of one size."""
    lenses = [_lens(document, frame, height, width) for frame in frames]
    distortion = torch.tensor([lens[4:] for lens in lenses])
    cameras = Cameras(
        torch.from_numpy(np.stack([frame.pose for frame in frames])),
        torch.tensor([lens[:2] for lens in lenses]),
        torch.tensor([lens[2:4] for lens in lenses]),
        distortion if bool(distortion.any()) else None,
        height,
        width,
    )
    cameras.check_lenses([frame.where for frame in frames])
    return cameras


def picture_size(document: Mapping[str, object], frames: Sequence[Frame]) -> tuple[int, int] | None:
    """Height and width of pictures as frames or their document say, which must be those of all; None if none says."""
    sizes = [(_number(document, frame, "h"), _number(document, frame, "w")) for frame in frames]
    for frame, (high, wide) in zip(frames, sizes, strict=True):
        if (high, wide) != sizes[0]:
            raise SignalError(
                f"{frame.where}: pictures of several sizes cannot be drawn together: w and h are {_words(wide, high)}, "
                f"and those of {frames[0].where} {_words(*reversed(sizes[0]))}: give each size a file of its own"
            )
    height, width = sizes[0]
    if height is None or width is None:
        return None
    check_size(int(width), int(height))
    return int(height), int(width)


def _words(width: float | None, height: float | None) -> str:
    return "not given" if width is None or height is None else f"{width:g}x{height:g}"


def _number(document: Mapping[str, object], frame: Frame, name: str) -> float | None:
    """What a frame says, or its document; None if neither does."""
    value = frame.numbers.get(name, document.get(name))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        raise SignalError(f"{frame.where}: {name} must be a number, got {str(value)[:40]!r}")
    return float(value)


def _lens(document: Mapping[str, object], frame: Frame, height: int, width: int) -> list[float]:
    """Focal lengths, centre and distortion in pixels of the photo as it is, the frame's own before the scene's."""

    def number(name: str) -> float | None:
        return _number(document, frame, name)

    model = frame.numbers.get("camera_model", document.get("camera_model", CAMERA_MODELS[0]))
    if model not in CAMERA_MODELS:
        raise SignalError(
            f"{frame.where}: camera_model must be one of {', '.join(CAMERA_MODELS)}, got {str(model)[:40]!r}: "
            "undistort the photos first"
        )
    other = next((name for name in OTHER_MODELS if frame.numbers.get(name, document.get(name))), None)
    if other is not None:
        raise SignalError(f"{frame.where}: {other} is set, and rays are those of a pinhole: undistort the photos first")
    beyond = next((name for name in OTHER_LENS if number(name)), None)
    if beyond is not None:
        raise SignalError(
            f"{frame.where}: lenses have k1, k2, p1 and p2 here, got {beyond}: undistort the photos first"
        )
    # Intrinsics are for pictures of size w x h, which need not be the size of those on disk.
    wide, high = number("w"), number("h")
    for name, size in (("w", wide), ("h", high)):
        if size is not None and not size > 0:
            raise SignalError(f"{frame.where}: {name} must be positive, got {size:g}")
    scale_x = width / wide if wide else height / high if high else 1.0
    scale_y = height / high if high else scale_x
    if not abs(scale_y / scale_x - 1) <= 2 / min(width, height):
        raise SignalError(
            f"{frame.where}: w and h are {wide:g} and {high:g}, and the photo has {width}x{height} pixels, which is "
            "another shape: give focal lengths and centre for the photo as it is shown upright"
        )

    def focal(axis: str, pixels: int, scale: float) -> float | None:
        length, angle = number(f"fl_{axis}"), number(f"camera_angle_{axis}")
        if length is not None:
            return length * scale
        if angle is not None and not 0 < angle < math.pi:
            raise SignalError(f"{frame.where}: camera_angle_{axis} must be between 0 and pi, got {angle:g}")
        return None if angle is None else pixels / 2 / math.tan(angle / 2)

    horizontal, vertical = focal("x", width, scale_x), focal("y", height, scale_y)
    if horizontal is None and vertical is None:
        raise SignalError(
            f"{frame.where}: the focal length is not known: give fl_x (in pixels) or camera_angle_x (in radians)"
        )
    # Pixels are square where one of the two is given.
    focal_x = vertical if horizontal is None else horizontal
    focal_y = horizontal if vertical is None else vertical
    assert focal_x is not None
    assert focal_y is not None
    if not (focal_x > 0 and focal_y > 0):
        raise SignalError(f"{frame.where}: focal lengths must be positive, got {focal_x:g} and {focal_y:g}")
    across, down = number("cx"), number("cy")
    centre = [width / 2 if across is None else across * scale_x, height / 2 if down is None else down * scale_y]
    return [focal_x, focal_y, *centre, *(number(name) or 0.0 for name in LENS)]
