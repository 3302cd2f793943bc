"""The box of a scene: its default, and how much of the photos shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from staf._typing import UInt8
from staf.kinds.scene.cameras import Cameras, nearest_to_axes, spread
from staf.kinds.scene.checks import Triple, box
from staf.kinds.scene.loading import OPAQUE
from staf.kinds.scene.reading import Views, find_transforms
from staf.ops.volume_rendering import ray_box
from staf.signals.errors import SignalError

# Half the side of the box of Blender's synthetic scenes, which lie around the origin, and how many of these halves
# away their cameras may be.
BLENDER_HALF = 1.5
FARTHEST = 10
# Cameras whose axes are less than about two degrees apart look at no point that could be found.
LEAST_SPREAD = 1e-3
# A box that fewer of the photos' rays meet is likely the wrong one.
LEAST_SHARE = 0.1
# Cameras, and points along each side of their pictures, whose rays are tried; an odd number has the middle.
CAMERAS, POINTS = 64, 33
# A box is made larger by this factor until it holds this share of what transparent photos show.
GROWTH, HELD = 1.1, 0.995
MISSES = "meet the box around"
POSES = "Poses map a camera's frame to the scene's, and a camera looks along -z with y up (Blender, OpenGL)"


def bounds(
    folder: Path,
    cameras: Cameras,
    *,
    centre: Sequence[float] | None = None,
    half: float | None = None,
    surrounded: bool = False,
    photos: Tensor | None = None,
) -> tuple[Triple, float]:
    """Centre and half side of the box that holds a scene, in its own units: those that are given, and the others.

    Blender's synthetic scenes lie within 1.5 of the origin, where their cameras look from outside. Of other scenes the
    box is around the point that the cameras look at, and reaches half-way to the nearer ones of them (their first
    quartile), or all the way where the photos show surroundings. Both are larger where transparent `photos` show
    something beside them.
    """
    given = box((0, 0, 0) if centre is None else centre, 1 if half is None else half)
    centre, half = None if centre is None else given[0], None if half is None else given[1]
    is_blender = "train" in find_transforms(folder) and not surrounded and _look_at_the_origin(cameras)
    is_found = centre is None and not is_blender
    if centre is None:
        centre = (0.0, 0.0, 0.0) if is_blender else _looked_at(cameras)
    if half is None:
        nearer = float((cameras.positions - torch.tensor(centre, dtype=torch.float64)).norm(dim=1).quantile(0.25))
        # Poses are written with seven digits or more.
        if not nearer > 2e-7 * float(cameras.positions.abs().max()):
            raise SignalError(
                f"the cameras are where they look, so that the scene's size cannot be found: {_ask()}. {POSES}"
            )
        half = BLENDER_HALF if is_blender else nearer if surrounded else nearer / 2
        if photos is not None:
            half = _holding(photos, cameras, centre, half, nearer)
        half = float(f"{half:.6g}")
    middle, side = box(centre, half)
    if not is_found:
        return middle, side
    # To a millionth of the box, so that it can be read and given again.
    digits = 6 - math.floor(math.log10(side))
    return box([round(value, digits) + 0.0 for value in middle], side)


def _holding(photos: Tensor, cameras: Cameras, centre: Sequence[float], half: float, most: float) -> float:
    """`half`, or more where photos show something beside a box of that size, which holds the larger part of it."""
    share = share_of_rays(_moved(cameras, centre, half), photos)
    while 0.5 < share < HELD and half < most:
        half = min(most, GROWTH * half)
        share = share_of_rays(_moved(cameras, centre, half), photos)
    return half


def _look_at_the_origin(cameras: Cameras) -> bool:
    """Whether cameras are around the box of Blender's scenes and look at a point in it, or all look the same way."""
    distance = float(cameras.positions.norm(dim=1).median()) / BLENDER_HALF
    together = spread(cameras) < LEAST_SPREAD
    return 1 < distance < FARTHEST and (together or float(nearest_to_axes(cameras).abs().max()) < BLENDER_HALF)


def _looked_at(cameras: Cameras) -> list[float]:
    """The point that cameras look at, refused where it cannot be found or most of them look away from it."""
    if spread(cameras) < LEAST_SPREAD:
        found = "there is one camera" if len(cameras) == 1 else f"the {len(cameras)} cameras look the same way"
        raise SignalError(f"{found}, so that how far away the scene is cannot be found: {_ask()}")
    point = nearest_to_axes(cameras)
    away = ((point - cameras.positions) * cameras.poses[:, :, 2]).sum(1) > 0
    if float(away.float().mean()) > 0.5:
        raise SignalError(
            f"most cameras look away from the point that is nearest to their axes, so that where the scene is cannot "
            f"be found: {_ask()}. {POSES}"
        )
    return point.tolist()


def box_notes(train: Views, test: Views | None, centre: Triple, half: float, *, refuse: bool = False) -> list[str]:
    """Sentences where few rays of the photos or held-out views meet the box; with `refuse`, an error if no photo's."""
    where = f"({', '.join(f'{round(value, 6) + 0.0:g}' for value in centre)}) with half side {half:g}"
    notes = []
    for views, of in ((train, "photos"), (test, "held-out views")):
        share = 1.0 if views is None else share_of_rays(_moved(views.cameras, centre, half))
        if share == 0 and refuse and views is train:
            raise SignalError(f"none of the rays of the {of} {MISSES} {where}, so there is nothing to fit: {_ask()}")
        if share < LEAST_SHARE:
            notes.append(
                f"only {100 * share:.2g} % of the rays of the {of} {MISSES} {where}, and only what is in it is fitted: "
                f"{_ask()}"
            )
    return notes


def _moved(cameras: Cameras, centre: Sequence[float], half: float) -> Cameras:
    return cameras.moved(torch.tensor(centre, dtype=torch.float64), half)


def share_of_rays(cameras: Cameras, photos: UInt8[Tensor, "v h w 4"] | None = None) -> float:
    """The share of the pictures' rays that meet the box [-1, 1]^3, of points spread evenly over some pictures.

    With transparent `photos` of these cameras, of rays through pixels that show something.
    """
    count = min(CAMERAS, len(cameras))
    views = torch.tensor([i * len(cameras) // count for i in range(count)])
    row, column = torch.cartesian_prod(*2 * [torch.linspace(0, 1, POINTS)]).repeat(count, 1).unbind(-1)
    views = views.repeat_interleave(POINTS**2)
    near, far = ray_box(*cameras.rays(views, row * cameras.height, column * cameras.width))
    meets = far > near
    if photos is not None:
        down, right = (row * cameras.height).long(), (column * cameras.width).long()
        cover = photos[views, down.clamp(max=cameras.height - 1), right.clamp(max=cameras.width - 1), 3]
        meets = meets[cover > OPAQUE / 2]
    return float(meets.float().mean()) if len(meets) else 1.0


def _ask() -> str:
    return (
        "give the box in the units of the poses (staf fit: --centre X Y Z --half X; "
        "staf.Scene.read(folder, centre=(x, y, z), half=x))"
    )
