"""Integrals along rays: X-ray transforms of pictures and volumes, for parallel, fan and cone beams."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd import Function

from staf._typing import Float
from staf.operators.linear import checked, checked_shape

# Samples along rays whose corners are held at once.
SAMPLES = 2**21


class RayIntegrals:
    """(A x)_r = integral of x along ray r, x interpolated linearly between the centres of its cells.

    In the outer half of a cell at the edge x is what it is at the cell's centre; outside of the array's box it is zero.

    The integral is a sum over points half a step, one and a half steps, ... from where the ray enters the box. The
    adjoint spreads each ray's value over the same samples with the same weights, so that both agree to rounding.

    Args:
        shape: of the array, one axis for each of the d dimensions.
        origin, direction: rays (r, d) in physical units, the array's box around 0; directions need no length of 1.
        spacing: the side of a cell, for all axes or for each.
        step: between two points of a ray, in cells of the smallest spacing.

    >>> through = RayIntegrals((2, 3), torch.tensor([[-5.0, 0.0]]), torch.tensor([[1.0, 0.0]]), spacing=0.5, step=0.25)
    >>> through.A(torch.ones(2, 3))
    tensor([1.])
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        origin: Float[Tensor, "r d"],
        direction: Float[Tensor, "r d"],
        *,
        spacing: float | tuple[float, ...] = 1.0,
        step: float = 0.5,
        output_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.input_shape = checked_shape(shape)
        dimensions = len(self.input_shape)
        sides = (float(spacing),) * dimensions if isinstance(spacing, (int, float)) else tuple(map(float, spacing))
        if len(sides) != dimensions or min(sides) <= 0:
            raise ValueError(f"spacing must be positive, one or {dimensions} numbers, got {spacing}")
        if origin.shape != direction.shape or origin.dim() != 2 or origin.shape[1] != dimensions:
            raise ValueError(
                f"origin and direction must have shape (rays, {dimensions}), got {tuple(origin.shape)} and "
                f"{tuple(direction.shape)}"
            )
        if not step > 0:
            raise ValueError(f"step must be positive, got {step}")
        self.output_shape = (len(origin),) if output_shape is None else checked_shape(output_shape)
        if math.prod(self.output_shape) != len(origin):
            raise ValueError(f"output_shape must hold {len(origin)} rays, got {self.output_shape}")
        self.spacing = sides
        self.step = step * min(sides)
        side = torch.tensor(sides, dtype=torch.float64)
        half = torch.tensor(self.input_shape, dtype=torch.float64) * side / 2
        start, unit = origin.double(), torch.nn.functional.normalize(direction.double(), dim=-1)
        enter, leave = box_limits(start, unit, half)
        # Rays in cells, from the centre of the first cell.
        self._start = ((start + enter[:, None] * unit + half) / side - 0.5).float()
        self._along = (unit / side).float()
        self._length = (leave - enter).float()
        self._points = math.ceil(float(self._length.max()) / self.step) if len(origin) else 0

    def A(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.input_shape)
        leading = x.shape[: x.dim() - len(self.input_shape)]
        sums = _Integrals.apply(x.reshape(-1, math.prod(self.input_shape)), self, False)
        return sums.reshape(*leading, *self.output_shape)

    def A_adjoint(self, y: Tensor) -> Tensor:
        y = checked("y", y, self.output_shape)
        leading = y.shape[: y.dim() - len(self.output_shape)]
        spread = _Integrals.apply(y.reshape(-1, math.prod(self.output_shape)), self, True)
        return spread.reshape(*leading, *self.input_shape)

    def corners(self, device: torch.device, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """For parts of the rays: which, the flat index (k, rays, points) of each corner, and its weight."""
        rays = max(1, SAMPLES // max(1, self._points * 2 ** len(self.input_shape)))
        steps = torch.arange(self._points, device=device) + 0.5
        for first in range(0, len(self._start), rays):
            of = slice(first, first + rays)
            start, along, length = (t[of].to(device) for t in (self._start, self._along, self._length))
            # The last step ends where the ray does.
            distance = steps * self.step
            width = (length[:, None] - steps.sub(0.5) * self.step).clamp(0, self.step)
            place = start[:, None] + torch.minimum(distance, length[:, None])[..., None] * along[:, None]
            place = place.clamp(min=0).minimum(place.new_tensor(self.input_shape) - 1)
            lowest = place.floor()
            part = place - lowest
            index, weight = [], []
            for corner in itertools.product((0, 1), repeat=len(self.input_shape)):
                flat = torch.zeros_like(lowest[..., 0], dtype=torch.long)
                share = width
                for axis, (up, size) in enumerate(zip(corner, self.input_shape, strict=True)):
                    cell = lowest[..., axis].long() + up
                    share = share * (part[..., axis] if up else 1 - part[..., axis])
                    flat = flat * size + cell.clamp(max=size - 1)
                index.append(flat)
                weight.append(share)
            yield of, torch.stack(index), torch.stack(weight).to(dtype)


class _Integrals(Function):
    """`apply(values, operator, adjoint)`: A of rows (n, cells), or its adjoint of rows (n, rays)."""

    @staticmethod
    def forward(values: Tensor, operator: RayIntegrals, adjoint: bool) -> Tensor:
        rays, cells = math.prod(operator.output_shape), math.prod(operator.input_shape)
        out = values.new_zeros(len(values), cells if adjoint else rays)
        for of, index, weight in operator.corners(values.device, values.dtype):
            if adjoint:
                shares = values[:, None, of, None] * weight
                out.index_add_(1, index.reshape(-1), shares.reshape(len(values), -1))
            else:
                out[:, of] = (values[:, index] * weight).sum((1, 3))
        return out

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        _, ctx.operator, ctx.adjoint = inputs

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return _Integrals.apply(grad, ctx.operator, not ctx.adjoint), None, None


def box_limits(origin: Tensor, direction: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    """Distances at which rays (r, d) of unit direction enter and leave the box [-half, half]; equal where they miss."""
    one = ((-half - origin) / direction).nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    other = ((half - origin) / direction).nan_to_num(nan=math.inf, posinf=math.inf, neginf=-math.inf)
    enter, leave = torch.minimum(one, other).amax(-1), torch.maximum(one, other).amin(-1)
    missed = ~(enter < leave)
    return enter.masked_fill(missed, 0.0), leave.masked_fill(missed, 0.0)


def parallel_beam(
    shape: tuple[int, int],
    angles: Float[Tensor, " a"],
    *,
    detectors: int | None = None,
    detector_size: float | None = None,
    spacing: float = 1.0,
    step: float = 0.5,
) -> RayIntegrals:
    """The Radon transform of pictures (rows, columns): sinograms (angles, detectors).

    At angle 0 rays run down the columns; angles are in radians, counter-clockwise as the picture is seen. Detectors are
    `detector_size` wide (by default a cell) and lie symmetrically about the axis; by default they cover the diagonal.
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
    return RayIntegrals(
        shape,
        origin.reshape(-1, 2),
        direction.reshape(-1, 2),
        spacing=spacing,
        step=step,
        output_shape=(len(angles), count),
    )


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
) -> RayIntegrals:
    """Rays from a source that circles the picture to a flat detector beyond it: sinograms (angles, detectors).

    Distances are from the axis of rotation, in the units of `spacing`.
    """
    across = (torch.arange(detectors, dtype=torch.float64) - (detectors - 1) / 2) * detector_size
    angle = angles.double()[:, None]
    along = torch.stack([angle.cos(), angle.sin()], -1)
    sideways = torch.stack([-angle.sin(), angle.cos()], -1)
    source = (-source_distance * along).expand(-1, detectors, -1)
    target = detector_distance * along + across[None, :, None] * sideways
    return RayIntegrals(
        shape,
        source.reshape(-1, 2),
        (target - source).reshape(-1, 2),
        spacing=spacing,
        step=step,
        output_shape=(len(angles), detectors),
    )


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
) -> RayIntegrals:
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
    return RayIntegrals(
        shape,
        source.reshape(-1, 3),
        (target - source).reshape(-1, 3),
        spacing=spacing,
        step=step,
        output_shape=(len(angles), rows, columns),
    )
