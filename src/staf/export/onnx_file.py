"""ONNX: the graph of a field as float32 operators that every ONNX runtime has."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterable
from functools import singledispatchmethod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from staf import __version__
from staf._extras import need
from staf._files import atomic_write
from staf.export import graph as g
from staf.export.describe import describe
from staf.export.meaning import Exportable, Meaning, meaning
from staf.nn.radiance_field import LARGEST_LOG_DENSITY

if TYPE_CHECKING:
    import onnx

OPSET = 18
# onnx.TensorProto.INT64.
INT64 = 7
INPUT, OUTPUT = "coordinates", "values"


def export_onnx(field: Exportable, path: str | os.PathLike[str]) -> Path:
    """Write a field as ONNX: input `coordinates` (points, d), output `values` (points, c), float32, any batch.

    Values are in the signal's own units. The model's metadata says how coordinates and values are meant, as JSON under
    the key `staf`.

    >>> import numpy as np, staf, tempfile
    >>> fit = staf.fit(np.zeros((4, 4), np.float32), field=staf.siren(2, 1, width=8), steps=1, progress=False)
    >>> export_onnx(fit.field, tempfile.mkdtemp() + "/picture.onnx").name
    'picture.onnx'
    """
    document = onnx_model(describe(field.module), meaning(field))
    atomic_write(path, document.SerializeToString())
    return Path(path)


def onnx_model(graph: g.Graph, meant: Meaning) -> onnx.ModelProto:
    """The ONNX model of a graph, checked by onnx's own checker."""
    need("export", "onnx")
    import onnx
    from onnx import TensorProto, helper

    nodes = _Nodes()
    names = [INPUT]
    for step in graph.steps:
        names.append(nodes.add(step, [names[source] for source in step.sources]))
    last = names[-1]
    if meant.transform.scale != 1:
        last = nodes.call("Mul", last, nodes.constant(meant.transform.scale))
    if meant.transform.offset != 0:
        last = nodes.call("Add", last, nodes.constant(meant.transform.offset))
    nodes.nodes.append(helper.make_node("Identity", [last], [OUTPUT]))
    whole = helper.make_graph(
        nodes.nodes,
        "field",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["points", graph.in_features])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["points", graph.out_features])],
        nodes.constants,
    )
    model = helper.make_model(
        whole,
        producer_name="staf",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
        doc_string=" ".join(meant.sentences(graph.in_features, graph.out_features)),
    )
    helper.set_model_props(model, {"staf": json.dumps(meant.to_plain())})
    onnx.checker.check_model(model, full_check=True)
    return model


class _Nodes:
    """The operators and constants of a model, in order."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def call(self, operator: str, *inputs: str, **attributes: int) -> str:
        """Append an operator; the name of its output."""
        from onnx import helper

        out = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [out], **attributes))  # type: ignore[arg-type]
        return out

    def constant(self, value: g.Array | float | Iterable[int], dtype: type = np.float32) -> str:
        """A tensor stored in the model; its name."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype=dtype, order="C"), name))
        return name

    def scaled(self, x: str, factor: g.Array) -> str:
        """x times a constant, left out where it is one."""
        return x if (factor.astype(np.float32) == 1).all() else self.call("Mul", x, self.constant(factor))

    def shifted(self, x: str, term: g.Array) -> str:
        """x plus a constant, left out where it is zero."""
        return x if (term.astype(np.float32) == 0).all() else self.call("Add", x, self.constant(term))

    @singledispatchmethod
    def add(self, step: g.Step, inputs: list[str]) -> str:
        """Append the operators of a step that reads `inputs`; the name of its value."""
        raise TypeError(f"no ONNX form of {type(step).__name__}")

    @add.register
    def _(self, step: g.Dense, inputs: list[str]) -> str:
        return self.call("Gemm", inputs[0], self.constant(step.weight), self.constant(step.bias), transB=1)

    @add.register
    def _(self, step: g.SineSeries, inputs: list[str]) -> str:
        terms = []
        for c, omega, phi in zip(step.amplitude.T, step.frequency.T, step.phase.T, strict=True):
            angle = self.shifted(self.scaled(inputs[0], omega), phi)
            terms.append(self.scaled(self.call("Sin", angle), c))
        total = terms[0] if len(terms) == 1 else self.call("Sum", *terms)
        return self.shifted(total, np.array(step.offset))

    @add.register
    def _(self, step: g.Finer, inputs: list[str]) -> str:
        (x,) = inputs
        scale = self.call("Add", self.call("Abs", x), self.constant(1.0))
        return self.call("Sin", self.call("Mul", self.call("Mul", scale, self.constant(step.omega0)), x))

    @add.register
    def _(self, step: g.Gauss, inputs: list[str]) -> str:
        scaled = self.scaled(inputs[0], np.array(step.sigma))
        return self.call("Exp", self.call("Neg", self.call("Mul", scaled, scaled)))

    @add.register
    def _(self, step: g.Relu, inputs: list[str]) -> str:
        return self.call("Relu", inputs[0])

    @add.register
    def _(self, step: g.Chebyshev, inputs: list[str]) -> str:
        u = self.call("Tanh", inputs[0])
        twice, polynomials = self.call("Add", u, u), [self.constant(1.0), u]
        for _ in range(1, step.degree):
            polynomials.append(self.call("Sub", self.call("Mul", twice, polynomials[-1]), polynomials[-2]))
        parts = [self._axis_added(each, 2) for each in polynomials[1:]]
        return self.call("Flatten", self.call("Concat", *parts, axis=2), axis=1)

    @add.register
    def _(self, step: g.Radiance, inputs: list[str]) -> str:
        logarithm, colours = self._columns(inputs[0], 0, 1, 1), self._columns(inputs[0], 1, 2**31 - 1, 1)
        density = self.call("Exp", self.call("Min", logarithm, self.constant(LARGEST_LOG_DENSITY)))
        return self.call("Concat", density, self.call("Sigmoid", colours), axis=1)

    @add.register
    def _(self, step: g.Window, inputs: list[str]) -> str:
        squares = []
        for k, centre in enumerate(step.centre.T):
            away = self.call("Sub", self._columns(inputs[0], k, k + 1, 1), self.constant(centre))
            squares.append(self.call("Mul", away, away))
        distance = squares[0] if len(squares) == 1 else self.call("Sum", *squares)
        return self.call("Exp", self.call("Mul", distance, self.constant(-0.5 * step.sharpness)))

    @add.register
    def _(self, step: g.HashGrid, inputs: list[str]) -> str:
        """All levels at once: positions, cells and weights are (points, levels, axes)."""
        resolution = np.array([level.resolution for level in step.levels])
        axes, (low, high) = resolution.shape[1], (self.constant(-1.0), self.constant(1.0))
        moved = self.call("Add", self.call("Clip", self._columns(inputs[0], 0, axes, 1), low, high), high)
        scaled = self.call("Mul", self._axis_added(moved, 1), self.constant(resolution / 2))
        cell = self.call("Min", self.call("Floor", scaled), self.constant(resolution - 1))
        s = self.call("Sub", scaled, cell)
        if step.smooth:
            rest = self.call("Sub", self.constant(3.0), self.call("Add", s, s))
            s = self.call("Mul", self.call("Mul", s, s), rest)
        opposite, corner = self.call("Sub", high, s), self.call("Cast", cell, to=INT64)
        weights = [[self._part(of, axis) for axis in range(axes)] for of in (opposite, s)]
        vertex = [self._part(corner, axis) for axis in range(axes)]
        next_vertex = [self.call("Add", each, self.constant(1, np.int64)) for each in vertex]
        table, total = self.constant(step.table), None
        for bits in itertools.product((0, 1), repeat=axes):
            row = self._grid_row(step, [(vertex, next_vertex)[bit][axis] for axis, bit in enumerate(bits)])
            weight = weights[bits[0]][0]
            for axis, bit in list(enumerate(bits))[1:]:
                weight = self.call("Mul", weight, weights[bit][axis])
            part = self.call("Mul", self._axis_added(weight, 2), self.call("Gather", table, row, axis=0))
            total = part if total is None else self.call("Add", total, part)
        assert total is not None
        return self.call("Flatten", total, axis=1)

    def _grid_row(self, step: g.HashGrid, vertex: list[str]) -> str:
        """Rows (points, levels) of the vertex whose places (points, levels) along the axes are given."""
        levels, dense, hashed = step.levels, None, None
        for axis, place in enumerate(vertex):
            strides = [math.prod(cells + 1 for cells in level.resolution[axis + 1 :]) for level in levels]
            strides = [stride if level.dense else 0 for stride, level in zip(strides, levels, strict=True)]
            part = self.call("Mul", place, self.constant(strides, np.int64))
            dense = part if dense is None else self.call("Add", dense, part)
            prime = g.PRIMES[len(vertex) - 1 - axis]
            part = self.call("Mul", place, self.constant(prime, np.int64))
            hashed = part if hashed is None else self.call("BitwiseXor", hashed, part)
        assert dense is not None
        assert hashed is not None
        rows, offsets = ([getattr(level, name) for level in levels] for name in ("rows", "offset"))
        hashed = self.call("Mod", hashed, self.constant(rows, np.int64))
        kept = self.call("Where", self.constant([level.dense for level in levels], np.bool_), dense, hashed)
        return self.call("Add", kept, self.constant(offsets, np.int64))

    def _axis_added(self, x: str, axis: int) -> str:
        return self.call("Unsqueeze", x, self.constant([axis], np.int64))

    def _part(self, x: str, index: int) -> str:
        """x[..., index]."""
        return self.call("Gather", x, self.constant(index, np.int64), axis=-1)

    @add.register
    def _(self, step: g.Gabor, inputs: list[str]) -> str:
        parts = [self._columns(name, k, 2**31 - 1, 2) for name in inputs for k in (0, 1)]
        square = self.call("Sum", *(self.call("Mul", part, part) for part in parts))
        damped = self.call("Mul", square, self.constant(-(step.sigma0**2)))
        angle, growth = (self.call("Mul", part, self.constant(step.omega0)) for part in parts[:2])
        envelope = self.call("Exp", self.call("Sub", damped, growth))
        waves = [self.call("Mul", envelope, self.call(wave, angle)) for wave in ("Cos", "Sin")]
        pairs = [self.call("Unsqueeze", wave, self.constant([2], np.int64)) for wave in waves]
        return self.call("Flatten", self.call("Concat", *pairs, axis=2), axis=1)

    @add.register
    def _(self, step: g.Sum, inputs: list[str]) -> str:
        return self.call("Add", *inputs)

    @add.register
    def _(self, step: g.Product, inputs: list[str]) -> str:
        return self.call("Mul", *inputs)

    def _columns(self, x: str, start: int, stop: int, every: int) -> str:
        """Columns start, start + every, ... of x."""
        bounds = (self.constant([number], np.int64) for number in (start, stop, 1, every))
        return self.call("Slice", x, *bounds)
