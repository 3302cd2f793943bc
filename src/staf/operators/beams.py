"""Scanners: parallel, fan and cone beams, as rays through a picture or a volume, and what is known about them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from staf._typing import Float
from staf.operators.rays import RayIntegrals


@dataclass(frozen=True)
class Beam:
    """A scanner that rotates about the centre of an image, or about the first axis of a volume.

    Lengths are in the unit of the cells' spacing. `source_distance` is infinite for parallel rays; distances are from
    the axis of rotation.
    """

    angles: Float[Tensor, " a"]
    detector_size: float
    source_distance: float = math.inf
    detector_distance: float = 0.0

    @property
    def step(self) -> float:
        """The angle that a view represents in a sum over all views: every ray counts once in each direction.

        >>> round(Beam(torch.arange(4) * math.pi / 4, 1.0).step / math.pi, 3)
        0.25
        >>> round(Beam(torch.arange(4) * math.pi / 2, 1.0).step / math.pi, 3)
        0.25
        """
        ordered = self.angles.double().sort().values
        if len(ordered) < 2:
            return math.pi
        between = float(ordered[-1] - ordered[0]) / (len(ordered) - 1)
        return between / 2 * min(2.0, 2 * math.pi / (between * len(ordered)))


class BeamIntegrals(RayIntegrals):
    """Integrals along the rays of a `beam`; filtered backprojection uses its geometry.

    >>> turns = torch.arange(4) * math.pi / 4
    >>> parallel_beam((6, 6), turns).beam.detector_size
    1.0
    """

    def __init__(
        self,
        beam: Beam,
        shape: tuple[int, ...],
        origin: Tensor,
        direction: Tensor,
        *,
        spacing: float | tuple[float, ...],
        step: float,
    ) -> None:
        flat = (part.reshape(-1, len(shape)) for part in (origin, direction))
        super().__init__(shape, *flat, spacing=spacing, step=step, output_shape=tuple(origin.shape[:-1]))
        self.beam = beam


def parallel_beam(
    shape: tuple[int, int],
    angles: Float[Tensor, " a"],
    *,
    detectors: int | None = None,
    detector_size: float | None = None,
    spacing: float = 1.0,
    step: float = 0.5,
) -> BeamIntegrals:
    """The Radon transform of images (rows, columns): sinograms (angles, detectors).

    At angle 0, rays run along the columns; angles are in radians, counter-clockwise in the image. Detectors are
    `detector_size` wide (by default a cell) and symmetric about the axis; by default they cover the diagonal.
    """
    size = spacing if detector_size is None else detector_size
    count = detectors or math.ceil(math.hypot(*shape) * spacing / size)
    across = (torch.arange(count, dtype=torch.float64) - (count - 1) / 2) * size
    angle = angles.double()[:, None]
    far = math.hypot(*shape) * spacing
    # Rows point down: a turn as it is seen goes from columns towards smaller rows.
    along = torch.stack([angle.cos(), angle.sin()], -1)
    sideways = torch.stack([-angle.sin(), angle.cos()], -1)
    origin = across[None, :, None] * sideways - far * along
    direction = along.expand_as(origin)
    beam = Beam(angles, size)
    return BeamIntegrals(beam, shape, origin, direction, spacing=spacing, step=step)


def fan_beam(
    shape: tuple[int, int],
    angles: Float[Tensor, " a"],
    *,
    source_distance: float,
    detector_distance: float,
    detectors: int,
    detector_size: float,
    spacing: float = 1.0,
    step: float = 0.5,
) -> BeamIntegrals:
    """Rays from a source that circles the image to a flat detector on the other side: sinograms (angles, detectors).

    Distances are from the axis of rotation, in the units of `spacing`.
    """
    across = (torch.arange(detectors, dtype=torch.float64) - (detectors - 1) / 2) * detector_size
    angle = angles.double()[:, None]
    along = torch.stack([angle.cos(), angle.sin()], -1)
    sideways = torch.stack([-angle.sin(), angle.cos()], -1)
    source = (-source_distance * along).expand(-1, detectors, -1)
    target = detector_distance * along + across[None, :, None] * sideways
    beam = Beam(angles, detector_size, source_distance, detector_distance)
    return BeamIntegrals(beam, shape, source, target - source, spacing=spacing, step=step)


def cone_beam(
    shape: tuple[int, int, int],
    angles: Float[Tensor, " a"],
    *,
    source_distance: float,
    detector_distance: float,
    detectors: tuple[int, int],
    detector_size: float,
    spacing: float | tuple[float, float, float] = 1.0,
    step: float = 0.5,
) -> BeamIntegrals:
    """Rays from a source that circles the first axis of a volume to a flat detector: (angles, rows, columns)."""
    rows, columns = detectors
    down = (torch.arange(rows, dtype=torch.float64) - (rows - 1) / 2) * detector_size
    across = (torch.arange(columns, dtype=torch.float64) - (columns - 1) / 2) * detector_size
    angle = angles.double()[:, None, None]
    cos, sin = angle.cos(), angle.sin()
    zero = torch.zeros_like(cos)
    along, sideways = torch.stack([zero, cos, sin], -1), torch.stack([zero, -sin, cos], -1)
    axis = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    source = (-source_distance * along).expand(-1, rows, columns, -1)
    target = detector_distance * along + down[:, None, None] * axis + across[None, :, None] * sideways
    beam = Beam(angles, detector_size, source_distance, detector_distance)
    return BeamIntegrals(beam, shape, source, target - source, spacing=spacing, step=step)
