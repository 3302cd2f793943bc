"""The values of a graph in NumPy and float64: the definition of its steps, which every export is tested against."""

from __future__ import annotations

import itertools
from functools import singledispatch

import numpy as np

from staf.export import graph as g
from staf.nn.radiance_field import LARGEST_LOG_DENSITY

Array = np.ndarray


def evaluate(graph: g.Graph, coordinates: Array) -> Array:
    """Values (n, c) at coordinates (n, d), in float64.

    >>> graph = g.Graph(1, [g.Dense(0, np.array([[2.0]]), np.array([1.0])), g.Relu(1)])
    >>> evaluate(graph, np.array([[-1.0], [3.0]])).tolist()
    [[0.0], [7.0]]
    """
    values = [np.asarray(coordinates, dtype=np.float64)]
    for step in graph.steps:
        values.append(_apply(step, *(values[source] for source in step.sources)))
    return values[-1]


@singledispatch
def _apply(step: g.Step, *inputs: Array) -> Array:
    raise TypeError(f"no formula for {type(step).__name__}")


@_apply.register
def _(step: g.Dense, x: Array) -> Array:
    return x @ step.weight.T + step.bias


@_apply.register
def _(step: g.SineSeries, x: Array) -> Array:
    terms = step.amplitude * np.sin(step.frequency * x[..., None] + step.phase)
    return terms.sum(-1) + step.offset


@_apply.register
def _(step: g.Finer, x: Array) -> Array:
    return np.sin(step.omega0 * (np.abs(x) + 1) * x)


@_apply.register
def _(step: g.Gauss, x: Array) -> Array:
    return np.exp(-((step.sigma * x) ** 2))


@_apply.register
def _(step: g.Relu, x: Array) -> Array:
    return np.maximum(x, 0)


@_apply.register
def _(step: g.Chebyshev, x: Array) -> Array:
    angle = np.arccos(np.tanh(x))[..., None] * np.arange(1, step.degree + 1)
    return np.cos(angle).reshape(len(x), -1)


@_apply.register
def _(step: g.Radiance, x: Array) -> Array:
    return np.concatenate(
        [np.exp(np.minimum(x[:, :1], LARGEST_LOG_DENSITY)), 0.5 + 0.5 * np.tanh(0.5 * x[:, 1:])], axis=1
    )


@_apply.register
def _(step: g.Window, x: Array) -> Array:
    distance = ((x[:, None, :] - step.centre) ** 2).sum(-1)
    return np.exp(-0.5 * step.sharpness * distance)


@_apply.register
def _(step: g.HashGrid, x: Array) -> Array:
    columns, x = [], x[:, : len(step.levels[0].resolution)]
    for level in step.levels:
        cells = np.array(level.resolution)
        position = (np.clip(x, -1, 1) + 1) * (cells / 2)
        cell = np.minimum(np.floor(position), cells - 1).astype(np.int64)
        s = position - cell
        s = s * s * (3 - 2 * s) if step.smooth else s
        total = np.zeros((len(x), step.table.shape[1]))
        for corner in itertools.product((0, 1), repeat=x.shape[1]):
            weight = np.where(np.array(corner) == 1, s, 1 - s).prod(-1)
            total += weight[:, None] * step.table[_grid_row(level, cell + np.array(corner))]
        columns.append(total)
    return np.concatenate(columns, axis=1)


def _grid_row(level: g.GridLevel, vertex: Array) -> Array:
    """The table's row of each vertex (n, d)."""
    row = np.zeros(len(vertex), np.int64)
    if level.dense:
        for axis, cells in enumerate(level.resolution):
            row = row * (cells + 1) + vertex[:, axis]
        return row + level.offset
    for axis, prime in zip(range(vertex.shape[1])[::-1], g.PRIMES, strict=False):
        row ^= vertex[:, axis] * prime
    return row % level.rows + level.offset


@_apply.register
def _(step: g.Gabor, z: Array, w: Array | None = None) -> Array:
    re, im = z[:, 0::2], z[:, 1::2]
    square = re**2 + im**2
    if w is not None:
        square = square + w[:, 0::2] ** 2 + w[:, 1::2] ** 2
    envelope = np.exp(-(step.sigma0**2) * square - step.omega0 * im)
    out = np.empty_like(z)
    out[:, 0::2], out[:, 1::2] = envelope * np.cos(step.omega0 * re), envelope * np.sin(step.omega0 * re)
    return out


@_apply.register
def _(step: g.Sum, a: Array, b: Array) -> Array:
    return a + b


@_apply.register
def _(step: g.Product, a: Array, b: Array) -> Array:
    return a * b
