"""Equation: fit a field to a differential equation and its conditions, by residuals from exact derivatives."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.nn.derivatives import FieldLike
from staf.ops.backend import backend
from staf.planning.situation import Rule
from staf.tasks.equations.conditions import Condition, Values, values_at
from staf.tasks.equations.jet import Jet
from staf.tasks.equations.newton import NewtonFinish
from staf.tasks.equations.plan import rules
from staf.training.task import Batch, Predict

if TYPE_CHECKING:
    from staf.training.state import State

Box = Sequence[tuple[float, float]]
Residual = Callable[[Jet, Tensor], Tensor]
POINTS = 2048
# Points at which a fit is compared with the known solution, about.
COMPARED = 2**14
CHUNK = 2**14


class Equation:
    """Minimise |residual(u, x) / scale|^2 inside a box, and the squared errors of conditions on its faces.

    `residual(u, x)` must be zero, (n, 1): `u` is a `Jet` with `u.value` and exact derivatives `u.d(axis, ...)`, and `x`
    has the points (n, d) in the units of the box. The points are fixed and evenly distributed (Sobol), with the same
    number inside and on the faces of each condition. Time, if there is one, is the first axis.

    Args:
        box: (low, high) of each axis.
        residual: see above.
        conditions: conditions on the faces: `boundary`, `initial`, `initial_rate`, `Condition`.
        solution: the solution, if it is known, from points (n, d) to (n, 1); only used to measure.
        scale: the size of the terms of the residual, which balances it with the conditions.
        frequency: approximately the highest frequency of the solution, in radians per unit of the box, with which the
            first layer starts.
        points: the number of points inside.
        dtype: torch.float32, or torch.float64 if float32 is not accurate enough for second derivatives.
        seed: of the points.
        newton_steps: steps of Levenberg-Marquardt after the training, in float64, for small networks.

    >>> from staf.tasks.equations import initial
    >>> decay = Equation(
    ...     [(0, 1)], lambda u, x: u.d(0) + u.value, [initial(1.0)], solution=lambda x: torch.exp(-x), points=64
    ... )
    >>> decay.points, decay.batch(None).coordinates.shape
    (64, torch.Size([2, 64, 1]))
    """

    out_features = 1

    def __init__(
        self,
        box: Box,
        residual: Residual,
        conditions: Sequence[Condition],
        *,
        solution: Values | None = None,
        scale: float = 1.0,
        frequency: float | None = None,
        points: int = POINTS,
        dtype: torch.dtype = torch.float32,
        seed: int = 0,
        newton_steps: int = 0,
    ) -> None:
        self.box = checked_box(box)
        self.in_features = len(self.box)
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"dtype must be torch.float32 or torch.float64, got {dtype}")
        if points < 1:
            raise ValueError(f"points must be at least 1, got {points}")
        if not (math.isfinite(scale) and scale > 0):
            raise ValueError(f"scale must be a positive number, got {scale}")
        if newton_steps < 0 or (newton_steps and dtype != torch.float64):
            raise ValueError(
                f"newton_steps must be at least 0, and 0 unless dtype is torch.float64, got {newton_steps}"
            )
        for condition in conditions:
            if not isinstance(condition, Condition):
                raise TypeError(f"conditions must be Condition objects, such as initial(0.0), got {condition!r}")
            if max(axis for axis, _ in condition.faces) >= self.in_features:
                raise ValueError(f"a face must be of the box's {self.in_features} axes, got {condition.faces}")
        self.residual, self.conditions, self.solution = residual, list(conditions), solution
        self.scale, self.frequency, self.dtype, self.seed = scale, frequency, dtype, seed
        self.newton_steps = newton_steps
        self.low, self.high = torch.tensor(self.box, dtype=dtype).T
        self.units = (self.high - self.low) / 2
        self.coordinates, self.target = self._drawn(points, seed)
        self._final_residual: float | None = None

    def _drawn(self, points: int, seed: int) -> tuple[Tensor, Tensor]:
        """Coordinates (1 + m, n, d) inside and for each condition, and the conditions' targets (max(m, 1), n, c)."""
        sobol = torch.quasirandom.SobolEngine(self.in_features + 1, scramble=True, seed=seed)
        numbers = sobol.draw(points * (1 + len(self.conditions)), dtype=torch.float64)
        inside, *others = numbers.split(points)
        places = [2 * inside[:, :-1] - 1, *(2 * c.draw(u) - 1 for c, u in zip(self.conditions, others, strict=True))]
        coordinates = torch.stack(places).to(self.low)
        targets = [
            condition.values(self.at(part), self.out_features)
            for condition, part in zip(self.conditions, coordinates[1:], strict=True)
        ]
        return coordinates, torch.stack(targets or [coordinates.new_zeros(points, self.out_features)])

    @property
    def points(self) -> int:
        return self.coordinates.shape[1]

    @property
    def observation(self) -> Tensor:
        """The targets of the conditions, (c, m, n)."""
        return self.target.movedim(-1, 0)

    def at(self, coordinates: Tensor) -> Tensor:
        """Points (n, d) in the units of the box, of coordinates in [-1, 1]."""
        return self.low + self.units * (coordinates + 1)

    def coordinates_of(self, x: Tensor) -> Tensor:
        """Coordinates in [-1, 1] of points (n, d) in the units of the box."""
        x = x.to(self.low)
        if x.ndim != 2 or x.shape[1] != self.in_features:
            raise ValueError(f"points must have shape (n, {self.in_features}), got {tuple(x.shape)}")
        return (x - self.low) / self.units - 1

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        """Coordinates (1 + m, n, d): points inside, and as many of each condition."""
        coordinates = self.coordinates if index is None else self.coordinates[:, index]
        target = self.target if index is None else self.target[:, index]
        if weight is None:
            weight = coordinates.new_full((coordinates.shape[1],), 1.0 / coordinates.shape[1])
        return Batch(coordinates, target, weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        with self._implementation():
            return self._loss(field, batch)

    def _implementation(self) -> contextlib.AbstractContextManager[None]:
        """The formulas in float64, where no operation has a kernel: they take fewer passes than the loop over terms."""
        return backend("reference") if self.dtype == torch.float64 else contextlib.nullcontext()

    def _loss(self, field: nn.Module, batch: Batch) -> Tensor:
        inside, *others = batch.coordinates
        error = self._residual(field, inside).square().mean(-1)
        for condition, part, target in zip(self.conditions, others, batch.target, strict=False):
            found = condition.observed(Jet(field, part, self.units), self.at(part))
            error = error + condition.weight * (found - target).square().mean(-1)
        return torch.dot(error, batch.weight.to(error.dtype))

    def _residual(self, field: FieldLike, coordinates: Tensor) -> Tensor:
        found = self.residual(Jet(field, coordinates, self.units), self.at(coordinates))
        if found.shape[0] != len(coordinates):
            raise ValueError(f"residual must return ({len(coordinates)}, 1) values, got {tuple(found.shape)}")
        return found.reshape(len(coordinates), -1) / self.scale

    def residual_parts(self, field: FieldLike, which: slice = slice(None)) -> list[Tensor]:
        """The residual at points inside and the errors of each condition, (n, k); the sum of their squares is the loss.

        `which` are some of the points; the squares are those of all.
        """
        inside, *others = self.coordinates[:, which]
        parts = [self._residual(field, inside)]
        weights = [1.0]
        for condition, part, target in zip(self.conditions, others, self.target[:, which], strict=False):
            parts.append(condition.observed(Jet(field, part, self.units), self.at(part)) - target)
            weights.append(condition.weight)
        return [
            part * math.sqrt(weight / (self.points * part.shape[1]))
            for part, weight in zip(parts, weights, strict=True)
        ]

    def residual_of(self, field: FieldLike, points: int = POINTS) -> float:
        """The root mean square of residual / scale at other points than those of the training."""
        coordinates, _ = self._drawn(points, self.seed + 1)
        found = [self._residual(field, part) for part in coordinates[0].split(CHUNK)]
        return float(torch.cat([part.detach() for part in found]).square().mean().sqrt())

    def callbacks(self) -> list[Callable[[State], None]]:
        """What a trainer calls: the second-order finish, and the residual of the final weights at fresh points."""
        finish: list[Callable[[State], None]] = [NewtonFinish(self, self.newton_steps)] if self.newton_steps else []
        return [*finish, _FinalResidual(self)]

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """The relative error sqrt(sum (u - v)^2 / sum v^2) on an even grid, where the solution v is known.

        `residual` is the root mean square of residual / scale at fresh points, and `condition_error` that of the
        conditions that speak of values.
        """
        measures = {} if self._final_residual is None else {"residual": self._final_residual}
        errors = [
            (predict(part) - target).square().mean()
            for condition, part, target in zip(self.conditions, self.coordinates[1:], self.target, strict=False)
            if condition.of is None
        ]
        if errors:
            measures["condition_error"] = float(torch.stack(errors).mean().sqrt())
        if self.solution is None:
            return measures
        return {"relative_error": self.relative_error(predict), **measures}

    def relative_error(self, predict: Predict) -> float:
        """The error of `predict`, coordinates (n, d) to (n, 1), against the known solution, on an even grid."""
        if self.solution is None:
            raise ValueError("the equation has no known solution to compare with: give solution=")
        side = max(2, round(COMPARED ** (1 / self.in_features)))
        axis = torch.linspace(-1, 1, side, dtype=self.dtype, device=self.low.device)
        grid = torch.cartesian_prod(*[axis] * self.in_features).reshape(-1, self.in_features)
        known = values_at(self.solution, self.at(grid), self.out_features).double()
        found = torch.cat([predict(part).detach() for part in grid.split(CHUNK)]).double()
        return float((found - known).norm() / known.norm())

    def solved(self, field: FieldLike) -> Callable[[Tensor], Tensor]:
        """The fitted solution as a function of points (n, d) in the units of the box: `solved(fit.field)`."""
        return lambda x: field(self.coordinates_of(x))

    def plan_rules(self) -> Mapping[str, Rule | None]:
        """What equations change of the rules of planning, by topic."""
        return rules(self)

    def metadata(self) -> Document:
        return {"task": "equation", "equation": type(self).__name__, "box": [list(side) for side in self.box]}

    def to(self, device: torch.device | str) -> Self:
        for name in ("low", "high", "units", "coordinates", "target"):
            setattr(self, name, getattr(self, name).to(device))
        return self


class _FinalResidual:
    """A callback that measures the residual of the final weights, which needs derivatives."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation

    def __call__(self, state: State) -> None:
        pass

    def finish(self, module: nn.Module) -> str:
        found = self.equation.residual_of(module)
        self.equation._final_residual = found
        return f"the residual at points that were not trained on is {found:.2e} of its scale"


def checked_box(box: Box) -> tuple[tuple[float, float], ...]:
    """(low, high) of each axis, as numbers.

    >>> checked_box([(0, 1), (-1, 1)])
    ((0.0, 1.0), (-1.0, 1.0))
    """
    sides = tuple((float(low), float(high)) for low, high in box)
    if not sides or not all(math.isfinite(low) and low < high < math.inf for low, high in sides):
        raise ValueError(f"box must have an increasing pair of numbers for each axis, got {list(box)}")
    return sides
