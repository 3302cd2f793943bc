"""Five equations of physics: Poisson, Helmholtz, heat, wave and Burgers, each with its data and its reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from staf.tasks.equations import reference
from staf.tasks.equations.conditions import Condition, Values, boundary, initial, initial_rate, values_at, walls
from staf.tasks.equations.equation import Equation, checked_box
from staf.tasks.equations.jet import Jet

UNIT_SQUARE = ((0.0, 1.0), (0.0, 1.0))
# Errors on the faces weigh more than residuals: those say how a solution bends, these where it is.
WEIGHT = 100.0


class Helmholtz(Equation):
    """Laplacian u + k^2 u = source inside a box, u = boundary on its faces.

    Args:
        wavenumber: k, in radians per unit of the box.
        source: a function of points (n, d), or a number.
        boundary: a function of points (n, d), or a number.
        box: (low, high) of each axis, of which there may be any number.
        how: `solution`, `points`, `dtype`, `seed`, `frequency` as for `Equation`.

    >>> room = Helmholtz(4.0, source=1.0, points=128)
    >>> room.points, room.scale
    (128, 16.0)
    """

    def __init__(
        self,
        wavenumber: float,
        source: Values = 0.0,
        boundary: Values = 0.0,
        box: Sequence[tuple[float, float]] = UNIT_SQUARE,
        **how: Any,
    ) -> None:
        self.square, self.source, self.edge = float(wavenumber) ** 2, source, boundary
        if not (math.isfinite(self.square) and wavenumber >= 0):
            raise ValueError(f"wavenumber must be a number of at least 0, got {wavenumber}")
        sides = checked_box(box)
        how.setdefault("frequency", max(float(wavenumber), _one_wave(sides)))
        scale = max(self.square, _size_of(source, sides), 1.0)
        super().__init__(sides, self._formula, [_on_all(boundary, len(sides))], scale=scale, **how)

    def _formula(self, u: Jet, x: Tensor) -> Tensor:
        return u.laplacian() + self.square * u.value - values_at(self.source, x, 1)

    def reference(self, count: int = 40) -> reference.Solution:
        """The solution by Chebyshev collocation, in 1 or 2 dimensions."""
        return reference.stationary(self.box, self.square, self.source, self.edge, count)


class Poisson(Helmholtz):
    """Laplacian u = source inside a box, u = boundary on its faces; arguments as for `Helmholtz`.

    >>> Poisson(source=lambda x: x[:, 0], points=64).points
    64
    """

    def __init__(
        self,
        source: Values,
        boundary: Values = 0.0,
        box: Sequence[tuple[float, float]] = UNIT_SQUARE,
        **how: Any,
    ) -> None:
        super().__init__(0.0, source, boundary, box, **how)


class Heat(Equation):
    """du/dt = diffusivity Laplacian u in a box whose first axis is time, from `start` at its beginning.

    Args:
        diffusivity: positive.
        start: u at the beginning, a function of points (n, d) or a number.
        edge: u at the ends of every other axis, at all times.
        box: (low, high) of time, and of each other axis.
        how: `solution`, `points`, `dtype`, `seed`, `frequency` as for `Equation`.
    """

    def __init__(
        self,
        diffusivity: float,
        start: Values,
        edge: Values = 0.0,
        box: Sequence[tuple[float, float]] = UNIT_SQUARE,
        **how: Any,
    ) -> None:
        self.diffusivity, self.start, self.edge = _positive("diffusivity", diffusivity), start, edge
        sides = checked_box(box)
        frequency = how.setdefault("frequency", _one_wave(sides[1:]))
        scale = max(self.diffusivity * frequency**2, 1 / (sides[0][1] - sides[0][0]))
        conditions = [initial(start, weight=WEIGHT), walls(edge, axes=len(sides), weight=WEIGHT)]
        super().__init__(sides, self._formula, conditions, scale=scale, **how)

    def _formula(self, u: Jet, x: Tensor) -> Tensor:
        return u.d(0) - self.diffusivity * u.laplacian(range(1, self.in_features))

    def reference(self, count: int = 40) -> reference.Solution:
        """The solution by Chebyshev collocation and an implicit integrator, for one axis besides time."""
        return reference.evolution(
            self.box, lambda u, d, dd: self.diffusivity * dd @ u, self.start, self.edge, count=count
        )


class Wave(Equation):
    """d^2u/dt^2 = speed^2 Laplacian u in a box whose first axis is time, from `start` and `start_rate`.

    Args:
        speed: positive.
        start: u at the beginning, a function of points (n, d) or a number.
        start_rate: du/dt at the beginning.
        edge: u at the ends of every other axis, at all times.
        box: (low, high) of time, and of each other axis.
        how: `solution`, `points`, `dtype`, `seed`, `frequency` as for `Equation`.
    """

    def __init__(
        self,
        speed: float,
        start: Values,
        start_rate: Values = 0.0,
        edge: Values = 0.0,
        box: Sequence[tuple[float, float]] = UNIT_SQUARE,
        **how: Any,
    ) -> None:
        self.speed, self.start, self.start_rate, self.edge = _positive("speed", speed), start, start_rate, edge
        sides = checked_box(box)
        frequency = how.setdefault("frequency", max(1.0, self.speed) * _one_wave(sides[1:]))
        conditions = [
            initial(start, weight=WEIGHT),
            initial_rate(start_rate, weight=WEIGHT / (self.speed * frequency) ** 2),
            walls(edge, axes=len(sides), weight=WEIGHT),
        ]
        super().__init__(sides, self._formula, conditions, scale=(self.speed * frequency) ** 2, **how)

    def _formula(self, u: Jet, x: Tensor) -> Tensor:
        return u.d(0, 0) - self.speed**2 * u.laplacian(range(1, self.in_features))

    def reference(self, count: int = 40) -> reference.Solution:
        """The solution by Chebyshev collocation and an explicit integrator, for one axis besides time."""
        return reference.evolution(
            self.box,
            lambda u, d, dd: self.speed**2 * dd @ u,
            self.start,
            self.edge,
            initial_rate=self.start_rate,
            count=count,
            stiff=False,
        )


class Burgers(Equation):
    """du/dt + u du/dx = viscosity d^2u/dx^2 in a box (t, x), from `start` at its beginning.

    Args:
        viscosity: positive; below 0.01 or so steep fronts need many points.
        start: u at the beginning, a function of points (n, 2) or a number.
        edge: u at both ends of x, at all times.
        box: (low, high) of time and of x.
        how: `solution`, `points`, `dtype`, `seed`, `frequency` as for `Equation`.
    """

    def __init__(
        self,
        viscosity: float,
        start: Values = lambda x: -torch.sin(math.pi * x[:, 1]),
        edge: Values = 0.0,
        box: Sequence[tuple[float, float]] = ((0.0, 1.0), (-1.0, 1.0)),
        **how: Any,
    ) -> None:
        self.viscosity, self.start, self.edge = _positive("viscosity", viscosity), start, edge
        sides = checked_box(box)
        if len(sides) != 2:
            raise ValueError(f"box must be of time and x, got {len(sides)} axes")
        frequency = how.setdefault("frequency", 2 * _one_wave(sides[1:]))
        conditions = [initial(start, weight=WEIGHT), walls(edge, axes=2, weight=WEIGHT)]
        super().__init__(sides, self._formula, conditions, scale=frequency, **how)

    def _formula(self, u: Jet, x: Tensor) -> Tensor:
        return u.d(0) + u.value * u.d(1) - self.viscosity * u.d(1, 1)

    def reference(self, count: int = 96) -> reference.Solution:
        """The solution by Chebyshev collocation and an implicit integrator; steep fronts need a larger `count`."""
        return reference.evolution(
            self.box, lambda u, d, dd: self.viscosity * dd @ u - u * (d @ u), self.start, self.edge, count=count
        )


def _on_all(target: Values, axes: int) -> Condition:
    return boundary(target, axes=axes, weight=WEIGHT)


def _one_wave(sides: Sequence[tuple[float, float]]) -> float:
    """One wave over the shortest side, in radians per unit."""
    return 2 * math.pi / min(high - low for low, high in sides)


def _size_of(source: Values, sides: Sequence[tuple[float, float]]) -> float:
    """The root mean square of a function over a box."""
    numbers = torch.quasirandom.SobolEngine(len(sides), scramble=True, seed=0).draw(256, dtype=torch.float64)
    low, high = torch.tensor(sides, dtype=torch.float64).T
    size = float(values_at(source, low + (high - low) * numbers, 1).square().mean().sqrt())
    if not math.isfinite(size):
        raise ValueError(f"source must be finite in the whole box, got a root mean square of {size}")
    return size


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, got {value}")
    return float(value)
