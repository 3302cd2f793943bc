"""Reference solutions without a network, to measure fits with: Chebyshev collocation in space, an integrator in time.

For smooth data their errors are below 1e-8; more nodes show whether they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from staf._extras import need
from staf.tasks.equations.chebyshev import differentiation, interpolation, nodes
from staf.tasks.equations.conditions import Values, values_at

Solution = Callable[[Tensor], Tensor]
Box = tuple[tuple[float, float], ...]
# The rate of change of all values inside, from the time, the values with those at the walls, and the matrices of the
# first and second derivative.
Rate = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
TOLERANCE = 1e-10


def stationary(box: Box, square: float, source: Values, boundary: Values, count: int = 40) -> Solution:
    """u with (d^2/dx^2 + d^2/dy^2 + square) u = source in a box of 1 or 2 axes, and u = boundary on its faces.

    `count` nodes along each axis; one dense system of all of them is solved.

    >>> line = stationary(((0.0, 1.0),), 0.0, lambda x: 6 * x, lambda x: x**3)
    >>> bool(torch.allclose(line(torch.tensor([[0.25], [0.7]])), torch.tensor([[0.25**3], [0.7**3]])))
    True
    """
    if len(box) not in (1, 2):
        raise ValueError(f"the reference is for boxes of 1 or 2 axes, got {len(box)}: give solution= instead")
    axes = [nodes(count, low, high) for low, high in box]
    seconds = [np.linalg.matrix_power(differentiation(axis), 2) for axis in axes]
    eye = np.eye(count)
    operator = seconds[0] if len(box) == 1 else np.kron(seconds[0], eye) + np.kron(eye, seconds[1])
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(box))
    edge = np.zeros([count] * len(box), bool)
    for axis in range(len(box)):
        np.moveaxis(edge, axis, 0)[[0, -1]] = True
    edge = edge.ravel()
    values = np.where(edge, _numbers(boundary, points), _numbers(source, points))
    operator = operator + square * np.eye(len(points))
    operator[edge] = np.eye(len(points))[edge]
    found = np.linalg.solve(operator, values).reshape([count] * len(box))

    def solution(x: Tensor) -> Tensor:
        at = x.detach().cpu().double().numpy()
        first = interpolation(axes[0], at[:, 0]) @ found
        if len(box) == 2:
            first = (interpolation(axes[1], at[:, 1]) * first).sum(1)
        return torch.from_numpy(first)[:, None].to(x)

    return solution


def evolution(
    box: Box,
    rate: Rate,
    initial: Values,
    walls: Values,
    *,
    initial_rate: Values | None = None,
    count: int = 64,
    stiff: bool = True,
) -> Solution:
    """u(t, x) with du/dt = rate(u, D, D^2), or d^2u/dt^2 where an `initial_rate` is given, from `initial` at the start.

    The box is (t, x); `walls` is u at both ends of x at all times. D is the matrix of the derivative at `count` nodes.
    """
    if len(box) != 2:
        raise ValueError(f"the reference is for boxes (t, x), got {len(box)} axes: give solution= instead")
    integrate = need("image", "scipy.integrate")
    (start, stop), (low, high) = box
    x = nodes(count, low, high)
    first = differentiation(x)
    second = first @ first

    def at(function: Values, time: float) -> np.ndarray:
        return _numbers(function, np.stack([np.full(count, time), x], 1))

    def whole(inside: np.ndarray, time: float) -> np.ndarray:
        ends = _numbers(walls, np.array([[time, low], [time, high]]))
        return np.concatenate([ends[:1], inside, ends[1:]])

    def change(time: float, state: np.ndarray) -> np.ndarray:
        if initial_rate is None:
            return rate(whole(state, time), first, second)[1:-1]
        values, speed = np.split(state, 2)
        return np.concatenate([speed, rate(whole(values, time), first, second)[1:-1]])

    begin = at(initial, start)[1:-1]
    if initial_rate is not None:
        begin = np.concatenate([begin, at(initial_rate, start)[1:-1]])
    method = "Radau" if stiff else "DOP853"
    found = integrate.solve_ivp(
        change, (start, stop), begin, method=method, rtol=TOLERANCE, atol=TOLERANCE, dense_output=True
    )
    if not found.success:
        raise RuntimeError(f"the reference solver stopped at t = {found.t[-1]:g}: {found.message}")

    def solution(points: Tensor) -> Tensor:
        where = points.detach().cpu().double().numpy()
        times, row = np.unique(where[:, 0], return_inverse=True)
        inside = found.sol(np.clip(times, start, stop))[: count - 2]
        table = np.stack([whole(column, time) for column, time in zip(inside.T, times, strict=True)])
        values = (interpolation(x, where[:, 1]) * table[row.ravel()]).sum(1)
        return torch.from_numpy(values)[:, None].to(points)

    return solution


def _numbers(function: Values, points: np.ndarray) -> np.ndarray:
    """A function or a number at points (n, d), (n,) in float64."""
    return values_at(function, torch.from_numpy(np.ascontiguousarray(points)), 1)[:, 0].numpy()
