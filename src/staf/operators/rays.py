"""Integrals along rays: X-ray transforms of pictures and volumes."""

from __future__ import annotations

import copy
import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Self

import torch
from torch import Tensor
from torch.autograd import Function

from staf._typing import Float
from staf.operators.linear import checked, checked_shape

# Samples along rays whose corners are held at once, by type of device: a GPU needs few large steps.
SAMPLES = {"cpu": 2**21, "cuda": 2**25}
# Weights of rays and cells that are kept, by type of device, 8 bytes each and twice over; with more they are computed
# each time.
MOST_WEIGHTS = {"cpu": 2**25, "cuda": 2**29}


class RayIntegrals:
    """(A x)_r = integral of x along ray r, x interpolated linearly between the centres of its cells.

    In the outer half of a cell at the edge, x has the value of the cell's centre; outside of the array's box, it is
    zero.

    The integral is a sum over points half a step, one and a half steps, ... from the point where the ray enters the
    box. The adjoint spreads the value of each ray over the same samples with the same weights, so it is exact up to
    rounding.

    Args:
        shape: that of the array, one axis for each of the d dimensions.
        origin: the origins of the rays, (r, d), in physical units; the array's box is centred at 0.
        direction: the directions of the rays, (r, d), of any length.
        spacing: the side of a cell, one number or one for each axis.
        step: the distance between two points of a ray, in cells of the smallest spacing.

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
        self._shape = torch.tensor(self.input_shape, dtype=torch.float32)
        self._weights = self._count()
        self._tables: dict[bool, Tensor] = {}
        self._subsets: dict[int, list[tuple[Tensor, RayIntegrals]]] = {}

    @property
    def tabulated(self) -> bool:
        """Whether the weights of all rays are few enough to be kept as a sparse matrix."""
        return self._weights <= MOST_WEIGHTS.get(self._start.device.type, 0)

    def _count(self) -> float:
        # Once for all: a step that asks a GPU for a number cannot be recorded.
        return float((self._length / self.step).ceil().double().sum()) * 2 ** len(self.input_shape)

    @property
    def lengths(self) -> Float[Tensor, " r"]:
        """How far each ray goes through the box, in physical units; 0 where it misses."""
        return self._length

    @property
    def steps_along(self) -> int:
        """Steps of the longest ray."""
        return max(1, self._points)

    def along(self, rays: Tensor, count: int) -> Float[Tensor, "k n d"]:
        """`count` places evenly along each of the rays (n,), from where it enters the box to where it leaves it.

        They are coordinates of a field, [-1, 1] over the array's box; those of rays that miss it are on its edge.

        >>> through = RayIntegrals((2, 4), torch.tensor([[-5.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
        >>> through.along(torch.tensor([0]), 2)[:, 0]
        tensor([[-0.5000,  0.0000],
                [ 0.5000,  0.0000]])
        """
        share = (torch.arange(count, device=rays.device, dtype=torch.float32) + 0.5) / count
        distance = share[:, None] * self._length[rays]
        cells = self._start[rays] + distance[..., None] * self._along[rays]
        return ((2 * cells + 1) / self._shape - 1).clamp(-1, 1)

    def part(self, rays: Tensor) -> RayIntegrals:
        """The integrals along some of the rays, a flat index (n,): observations (n,).

        >>> two = RayIntegrals((2, 2), torch.tensor([[-5.0, 0.0], [-5.0, 9.0]]), torch.tensor([[1.0, 0.0]] * 2))
        >>> two.part(torch.tensor([0])).A(torch.ones(2, 2))
        tensor([2.])
        """
        some = copy.copy(self)
        some._start, some._along, some._length = self._start[rays], self._along[rays], self._length[rays]
        some.output_shape, some._tables, some._subsets = (len(rays),), {}, {}
        some._weights = some._count()
        return some

    def subsets(self, count: int) -> list[tuple[Tensor, RayIntegrals]]:
        """The rays in `count` parts, each with every `count`-th view, and their flat indices; made once."""
        if count not in self._subsets:
            rays = torch.arange(math.prod(self.output_shape)).reshape(self.output_shape)
            parts = [rays[first::count].flatten() for first in range(min(count, len(rays)))]
            self._subsets[count] = [(of, self.part(of)) for of in parts]
        return self._subsets[count]

    def to(self, device: torch.device | str) -> Self:
        """The same rays on another device."""
        moved = copy.copy(self)
        moved._start, moved._along, moved._length = (t.to(device) for t in (self._start, self._along, self._length))
        moved._shape = self._shape.to(device)
        moved._tables = {adjoint: table.to(device) for adjoint, table in self._tables.items()}
        moved._subsets = {}
        return moved

    def table(self, adjoint: bool) -> Tensor:
        """All weights as a sparse matrix (rays, cells), or its transpose; made when first asked for."""
        if adjoint not in self._tables:
            self._tables[adjoint] = self._transposed() if adjoint else self._listed()
        return self._tables[adjoint]

    def _listed(self) -> Tensor:
        counts, columns, weights = [], [], []
        for _, index, weight in self.corners(self._start.device, torch.float32):
            used = (weight > 0).permute(1, 2, 0)
            counts.append(used.sum((1, 2)))
            columns.append(index.permute(1, 2, 0)[used].int())
            weights.append(weight.permute(1, 2, 0)[used])
        return _sparse(torch.cat(counts), torch.cat(columns), torch.cat(weights), math.prod(self.input_shape))

    def _transposed(self) -> Tensor:
        forward = self.table(False)
        columns, counts = forward.col_indices(), forward.crow_indices().diff()
        order = columns.argsort(stable=True)
        rays = torch.arange(len(counts), device=order.device, dtype=torch.int32).repeat_interleave(counts)
        cells = torch.bincount(columns, minlength=forward.shape[1])
        return _sparse(cells, rays[order], forward.values()[order], len(counts))

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
        samples = SAMPLES.get(device.type, SAMPLES["cpu"])
        rays = max(1, samples // max(1, self._points * 2 ** len(self.input_shape)))
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
        if operator.tabulated and values.device == operator._start.device:
            return (_in(operator.table(adjoint), values) @ values.T).T
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


def _sparse(counts: Tensor, columns: Tensor, weights: Tensor, width: int) -> Tensor:
    """The sparse matrix whose rows have so many entries each; torch warns that their support is new."""
    ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).int()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(ends, columns, weights, (len(counts), width))


def _in(table: Tensor, like: Tensor) -> Tensor:
    """A table in the type of the values that it multiplies."""
    if table.dtype == like.dtype:
        return table
    return torch.sparse_csr_tensor(
        table.crow_indices(), table.col_indices(), table.values().to(like.dtype), table.shape
    )


def box_limits(origin: Tensor, direction: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    """Distances at which rays (r, d) of unit direction enter and leave the box [-half, half]; equal where they miss."""
    one = ((-half - origin) / direction).nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    other = ((half - origin) / direction).nan_to_num(nan=math.inf, posinf=math.inf, neginf=-math.inf)
    enter, leave = torch.minimum(one, other).amax(-1), torch.maximum(one, other).amin(-1)
    missed = ~(enter < leave)
    return enter.masked_fill(missed, 0.0), leave.masked_fill(missed, 0.0)
