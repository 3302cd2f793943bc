"""The graph of a radiance field: two networks and an encoding of directions, joined into one list of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch import nn

from staf._documents import Document
from staf.export import graph as g
from staf.export.describing import add_steps
from staf.export.errors import ExportError
from staf.nn.radiance_field import PRODUCTS, RadianceField, SphericalHarmonics

# A value of the graph, and the matrix that takes from it what a network reads.
Part = tuple[int, g.Array]


def radiance(module: RadianceField, graph: g.Graph, value: int) -> int:
    """Density and features of positions, colours of features and directions."""
    if value != g.COORDINATES:
        raise ExportError("cannot export a RadianceField of anything but the coordinates")
    positions, directions = np.eye(3, 6), np.eye(3, 6, 3)
    made = spliced(module.position, graph, [(value, positions)])
    width, features = graph.widths[made], module.sizes[-1]
    seen: Part = (value, directions)
    if not isinstance(module.direction, nn.Identity):
        encoded = spliced(module.direction, graph, [seen])
        seen = (encoded, np.eye(graph.widths[encoded]))
    colour = spliced(module.colour, graph, [(made, np.eye(features, width, width - features)), seen])
    density = graph.add(g.Dense(made, np.eye(4, width) * np.eye(4, 1), np.zeros(4)))
    placed = graph.add(g.Dense(colour, np.eye(4, 3, -1), np.zeros(4)))
    return graph.add(g.Radiance(graph.add(g.Sum(density, placed))))


def harmonics(module: SphericalHarmonics, graph: g.Graph, value: int) -> int:
    """Products of three factors 1, x, y or z, each product counted in one harmonic."""
    product = None
    for place in range(3):
        names = [factors.rjust(3, "1")[place] for _, factors, _ in PRODUCTS]
        weight = np.array([[float(name == axis) for axis in "xyz"] for name in names])
        factor = graph.add(g.Dense(value, weight, np.array([float(name == "1") for name in names])))
        product = factor if product is None else graph.add(g.Product(product, factor))
    assert product is not None
    counted = np.zeros((module.features, len(PRODUCTS)))
    for column, (harmonic, _, coefficient) in enumerate(PRODUCTS):
        counted[harmonic, column] = coefficient
    return graph.add(g.Dense(product, counted, np.zeros(module.features)))


def spliced(module: nn.Module, graph: g.Graph, parts: list[Part]) -> int:
    """Add the steps of a network that reads parts of several values, end to end; the value that it makes."""
    inner = g.Graph(sum(len(select) for _, select in parts))
    add_steps(module, inner, g.COORDINATES)
    places: dict[int, int] = {}
    for number, step in enumerate(inner.steps, start=1):
        if g.COORDINATES not in step.sources:
            places[number] = graph.add(_moved(step, places))
        elif isinstance(step, g.Dense):
            places[number] = _dense_of_parts(step, graph, parts)
        elif isinstance(step, g.HashGrid) and parts[0][0] == g.COORDINATES and parts[0][1][0, 0] == 1:
            places[number] = graph.add(step)
        else:
            raise ExportError(f"cannot export {type(module).__name__} as a part of a RadianceField")
    return places[len(inner.steps)]


def _moved(step: g.Step, places: dict[int, int]) -> g.Step:
    """A step that reads the same values at their places in another graph."""
    names = ("source", "first", "second", "orthogonal")
    read: Document = {name: places[of] for name in names if (of := getattr(step, name, None)) is not None}
    return replace(step, **read)


def _dense_of_parts(step: g.Dense, graph: g.Graph, parts: list[Part]) -> int:
    """W (a, b) + c as (W_a a + c) + W_b b, so that no step joins vectors end to end."""
    total, start, bias = None, 0, step.bias
    for value, select in parts:
        weight = step.weight[:, start : start + len(select)] @ select
        made = graph.add(g.Dense(value, weight, bias))
        total = made if total is None else graph.add(g.Sum(total, made))
        start, bias = start + len(select), np.zeros(len(bias))
    assert total is not None
    return total
