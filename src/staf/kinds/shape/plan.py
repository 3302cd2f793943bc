"""What shapes change of the rules of planning."""

from __future__ import annotations

from staf.planning.capacity import LARGER, too_small
from staf.planning.first_frequency import from_resolution
from staf.planning.situation import Choice, Rule, Situation

# Faces of voxels that a unit of area passes, in voxels, in the mean over all directions.
FACES_PER_AREA = 1.5


def size(s: Situation) -> Choice:
    """A word on a surface with too much detail: what a network must hold are the voxels at the surface."""
    mesh = getattr(s.signal, "mesh", None)
    if mesh is None:
        return Choice()
    voxel = 2 * s.signal.frame.half / s.signal.resolution
    faces = round(FACES_PER_AREA * float(mesh.areas().sum()) / voxel**2)
    return too_small(s, faces, "voxels at the surface", LARGER)


# An occupancy is a step at the surface, and its spectrum says nothing about the shape.
RULES: dict[str, Rule] = {"first_frequency": from_resolution, "size": size}
