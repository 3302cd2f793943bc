"""The surface of a radiance field's matter as a mesh, in the scene's own units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from staf.kinds.scene.rendering import in_few_sizes
from staf.kinds.scene.updates import density_of
from staf.kinds.shape.frame import Frame
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.rendering import field_planes, surface
from staf.ops.volume_rendering import cell_index
from staf.signals.errors import SignalError
from staf.signals.rendering import Predict

if TYPE_CHECKING:
    from staf.kinds.scene.signal import Scene

RESOLUTION = 256
LEVEL = 0.5
# The length over which light is taken, as a share of the box's side: matter of a hardly trained field is like fog.
LENGTH = 1 / 16


def surface_of(
    scene: Scene,
    predict: Predict,
    *,
    resolution: int | None = None,
    level: float | None = None,
    device: torch.device | str | None = None,
) -> Mesh:
    """Where matter takes the share `level` (by default one half) of the light on a sixteenth of the box's side.

    With density s and that length w, this is where 1 - exp(-s w) = level. The box has `resolution` (256) voxels a side.
    """
    resolution = RESOLUTION if resolution is None else resolution
    level = LEVEL if level is None else level
    if resolution < 2:
        raise SignalError(f"resolution must be at least 2, got {resolution}")
    if not 0 < level < 1:
        raise SignalError(f"level must be between 0 and 1, got {level:g}")
    device = torch.device("cpu" if device is None else device)
    occupied = scene.occupancy(predict, device).around()

    def opacity(points: Tensor) -> Tensor:
        points = points.to(device)
        # Few cells hold matter, and the others need no pass.
        inside = occupied.reshape(-1)[cell_index(points, occupied.shape)].nonzero()[:, 0]
        taken = torch.zeros(len(points), device=device)
        if len(inside):
            density = in_few_sizes(lambda some: density_of(predict, some), points[inside])
            taken[inside] = -torch.expm1(-density.float() * (2 * LENGTH))
        return taken[:, None]

    counts = (resolution, resolution, resolution)
    frame = Frame(scene.centre, scene.half, resolution, (0, 0, 0), counts)
    return surface(field_planes(opacity, frame, counts), frame, counts, "centres", level)
