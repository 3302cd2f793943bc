"""GLSL and WGSL: a field as one function with its weights written out, for shaders of small networks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import singledispatchmethod
from pathlib import Path

import numpy as np

from staf._files import atomic_write
from staf.export import graph as g
from staf.export.describe import describe
from staf.export.errors import ExportError
from staf.export.meaning import Exportable, Meaning, meaning
from staf.export.numbers import comment, literal

# Constant tables of more numbers than this (4,096 vectors) are refused or very slow in common drivers.
MOST_NUMBERS = 2**14
PARTS = {1: ".x", 2: ".xy", 3: ".xyz", 4: ""}
# The polynomial of degree 9 nearest to sin r for |r| <= pi / 2; it is wrong by 3e-9 at most.
SINE = "r * (1.0 + s * (-0.16666648 + s * (0.0083328998 + s * (-0.00019800897 + s * 0.0000025904883))))"


@dataclass(frozen=True)
class Language:
    """What differs between the two; the fields are formats of what their names say."""

    name: str
    scalar: str
    vector: str
    matrix: str
    function: str
    variable: str
    array: str
    table: str
    loop: str
    polynomial: str

    def of(self, count: int) -> str:
        """The type of so many numbers."""
        return self.scalar if count == 1 else self.vector.format(count)

    def head(self, name: str, argument: str, inputs: int, outputs: int) -> str:
        """The first line of a function."""
        return self.function.format(name=name, argument=argument, takes=self.of(inputs), gives=self.of(outputs))


GLSL = Language(
    "GLSL",
    scalar="float",
    vector="vec{}",
    matrix="mat4",
    function="{gives} {name}({takes} {argument}) {{",
    variable="vec4 {name} = {value};",
    array="vec4 {name}[{count}];",
    table="const {kind} {name}[{count}] = {kind}[{count}](\n    {values});",
    loop="for (int {name} = 0; {name} < {count}; {name}++) {{",
    polynomial="""float field_polynomial(float x, int degree) {
    float u = tanh(clamp(x, -10.0, 10.0)), before = 1.0, now = u;
    for (int k = 1; k < degree; k++) {
        float next = 2.0 * u * now - before;
        before = now;
        now = next;
    }
    return now;
}
""",
)
WGSL = Language(
    "WGSL",
    scalar="f32",
    vector="vec{}f",
    matrix="mat4x4f",
    function="fn {name}({argument}: {takes}) -> {gives} {{",
    variable="var {name} = {value};",
    array="var {name}: array<vec4f, {count}>;",
    table="const {name} = array<{kind}, {count}>(\n    {values});",
    loop="for (var {name} = 0; {name} < {count}; {name}++) {{",
    polynomial="""fn field_polynomial(x: f32, degree: i32) -> f32 {
    let u = tanh(clamp(x, -10.0, 10.0));
    var before = 1.0;
    var now = u;
    for (var k = 1; k < degree; k++) {
        let next = 2.0 * u * now - before;
        before = now;
        now = next;
    }
    return now;
}
""",
)


def export_glsl(field: Exportable, path: str | os.PathLike[str]) -> Path:
    """Write a field as GLSL (ES 3.00, 3.30 and later): a function such as `vec3 field(vec2 p)`.

    >>> import numpy as np, staf, tempfile
    >>> fit = staf.fit(np.zeros((4, 4), np.float32), field=staf.siren(2, 1, width=8), steps=1, progress=False)
    >>> "float field(vec2 p)" in export_glsl(fit.field, tempfile.mkdtemp() + "/a.glsl").read_text()
    True
    """
    atomic_write(path, shader_source(describe(field.module), meaning(field), GLSL))
    return Path(path)


def export_wgsl(field: Exportable, path: str | os.PathLike[str]) -> Path:
    """Write a field as WGSL: a function such as `fn field(p: vec2f) -> vec3f`."""
    atomic_write(path, shader_source(describe(field.module), meaning(field), WGSL))
    return Path(path)


def shader_source(graph: g.Graph, meant: Meaning, language: Language) -> str:
    """The source text."""
    if max(graph.in_features, graph.out_features) > 4:
        raise ExportError(
            f"cannot write {language.name}: its vectors have at most 4 numbers, and the field maps {graph.in_features} "
            f"coordinates to {graph.out_features} values; use .onnx or .c"
        )
    if graph.parameters > MOST_NUMBERS:
        raise ExportError(
            f"cannot write {language.name}: the field holds {graph.parameters:,} parameters, and a shader can hold "
            f"{MOST_NUMBERS:,}; use .html, .onnx or .c, or fit a narrower network"
        )
    if any(isinstance(step, g.HashGrid) for step in graph.steps):
        raise ExportError(
            f"cannot write {language.name}: the field looks numbers up in a hash grid, which source code of a shader "
            "cannot hold; use .html, .onnx or .c"
        )
    writer = _Writer(language, graph)
    for step in graph.steps:
        writer.add(step)
    about = ["A field made by staf.", *meant.sentences(graph.in_features, graph.out_features)]
    if language is GLSL:
        about.append("GLSL ES needs `precision highp float;` before this function.")
    scaled = f"v{len(graph.steps)}[0]{PARTS[graph.out_features]}"
    if meant.transform.scale != 1:
        scaled = f"{literal(meant.transform.scale)} * {scaled}"
    if meant.transform.offset != 0:
        scaled = f"{literal(meant.transform.offset)} + {scaled}"
    return "\n".join(
        [
            *comment(about, "// "),
            "",
            *writer.tables,
            "",
            "// The sine to float32's precision at any angle; a GPU's own may be wrong by 0.0005 and more.",
            language.head("field_sin", "x", 4, 4),
            *writer.sine(),
            "}",
            "",
            *([language.polynomial] if any(isinstance(step, g.Chebyshev) for step in graph.steps) else []),
            language.head("field", "p", graph.in_features, graph.out_features),
            *writer.lines,
            f"    return {scaled};",
            "}",
            "",
        ]
    )


class _Writer:
    """Vectors are arrays of four numbers each, the last ones filled up with zeros; weights are tables of matrices."""

    def __init__(self, language: Language, graph: g.Graph) -> None:
        self.language, self.graph, self.four = language, graph, language.of(4)
        self.tables: list[str] = []
        self.lines = [f"    {language.array.format(name='v0', count=1)}"]
        self.lines.append(f"    v0[0] = {self.four}(p{', 0.0' * (4 - graph.in_features)});")
        self._made = 0

    def sine(self) -> list[str]:
        """sin x by a polynomial of x - n pi, in which n pi is subtracted in two parts, the first exact."""
        return [
            self._variable("n", "round(x * 0.31830987)"),
            self._variable("r", "(x - n * 3.140625) - n * 0.00096765359"),
            self._variable("s", "r * r"),
            self._variable("y", SINE),
            "    return y * (1.0 - 2.0 * abs(n - 2.0 * round(0.5 * n)));",
        ]

    def add(self, step: g.Step) -> None:
        """Append the loop of a step."""
        self._made += 1
        count = _groups(self.graph.widths[self._made])
        self.lines.append(f"    {self.language.array.format(name=f'v{self._made}', count=count)}")
        self.lines.append(f"    {self.language.loop.format(name='i', count=count)}")
        inputs = [f"v{source}" for source in step.sources]
        self.lines.extend(f"        {line}" for line in self._code(step, f"v{self._made}[i]", inputs))
        self.lines.append("    }")

    def _variable(self, name: str, value: str) -> str:
        return "    " + self.language.variable.format(name=name, value=value)

    def _table(self, name: str, blocks: g.Array) -> str:
        """A table of vectors (n, 4) or of matrices (n, 4, 4), which are written column by column; its name."""
        name = f"{name}_{self._made}"
        kind = self.four if blocks.ndim == 2 else self.language.matrix
        rows = blocks if blocks.ndim == 2 else blocks.swapaxes(1, 2).reshape(len(blocks), -1)
        values = ",\n    ".join(f"{kind}({', '.join(map(literal, row))})" for row in rows.tolist())
        self.tables.append(self.language.table.format(kind=kind, name=name, count=len(blocks), values=values))
        return name

    def _vectors(self, name: str, numbers: g.Array) -> str:
        """A table of numbers (m,), four in each entry."""
        padded = np.zeros(4 * _groups(len(numbers)))
        padded[: len(numbers)] = numbers
        return self._table(name, padded.reshape(-1, 4))

    @singledispatchmethod
    def _code(self, step: g.Step, out: str, inputs: list[str]) -> list[str]:
        """The lines that set `out`, four numbers of the step's value."""
        raise TypeError(f"no shader form of {type(step).__name__}")

    @_code.register
    def _(self, step: g.Dense, out: str, inputs: list[str]) -> list[str]:
        rows, columns = (_groups(size) for size in step.weight.shape)
        padded = np.zeros((4 * rows, 4 * columns))
        padded[: step.weight.shape[0], : step.weight.shape[1]] = step.weight
        blocks = padded.reshape(rows, 4, columns, 4).swapaxes(1, 2).reshape(-1, 4, 4)
        weight, bias = self._table("weight", blocks), self._vectors("bias", step.bias)
        return [
            f"{out} = {bias}[i];",
            self.language.loop.format(name="k", count=columns),
            f"    {out} += {weight}[i * {columns} + k] * {inputs[0]}[k];",
            "}",
        ]

    @_code.register
    def _(self, step: g.SineSeries, out: str, inputs: list[str]) -> list[str]:
        lines = [f"{out} = {self.four}({literal(step.offset)});"]
        for term in range(step.amplitude.shape[1]):
            tables = {"c": step.amplitude, "omega": step.frequency, "phi": step.phase}
            if len(step.amplitude) == 1:
                c, omega, phi = (literal(table[0, term]) for table in tables.values())
            else:
                c, omega, phi = (f"{self._vectors(f'{name}{term}', t[:, term])}[i]" for name, t in tables.items())
            lines.append(f"{out} += {c} * field_sin({omega} * {inputs[0]}[i] + {phi});")
        return lines

    @_code.register
    def _(self, step: g.Finer, out: str, inputs: list[str]) -> list[str]:
        x = f"{inputs[0]}[i]"
        return [f"{out} = field_sin({literal(step.omega0)} * (abs({x}) + 1.0) * {x});"]

    @_code.register
    def _(self, step: g.Gauss, out: str, inputs: list[str]) -> list[str]:
        x = f"{inputs[0]}[i]"
        return [f"{out} = exp({literal(-(step.sigma**2))} * {x} * {x});"]

    @_code.register
    def _(self, step: g.Relu, out: str, inputs: list[str]) -> list[str]:
        return [f"{out} = max({inputs[0]}[i], {self.four}(0.0));"]

    @_code.register
    def _(self, step: g.Chebyshev, out: str, inputs: list[str]) -> list[str]:
        lines, last = [], self.graph.widths[step.source] - 1
        for part in range(4):
            number = f"(4 * i + {part})"
            neuron = f"min({number} / {step.degree}, {last})"
            x = f"{inputs[0]}[{neuron} / 4][{neuron} % 4]"
            lines.append(f"{out}[{part}] = field_polynomial({x}, {number} % {step.degree} + 1);")
        return lines

    @_code.register
    def _(self, step: g.Window, out: str, inputs: list[str]) -> list[str]:
        lines = [f"{out} = {self.four}(0.0);"]
        for k, centre in enumerate(step.centre.T):
            away = f"(v0[0].{'xyzw'[k]} - {self._vectors(f'centre{k}', centre)}[i])"
            lines.append(f"{out} += {away} * {away};")
        return [*lines, f"{out} = exp({self._vectors('sharpness', -0.5 * step.sharpness)}[i] * {out});"]

    @_code.register
    def _(self, step: g.Gabor, out: str, inputs: list[str]) -> list[str]:
        z, omega = f"{inputs[0]}[i]", literal(step.omega0)
        square = " + ".join(f"{x}[i] * {x}[i]" for x in inputs)
        quarter = f"{self.four}(1.5707964, 0.0, 1.5707964, 0.0)"
        return [
            f"{out} = {square};",
            f"{out} = exp({literal(-(step.sigma0**2))} * ({out} + {out}.yxwz) - {omega} * {z}.yyww);",
            f"{out} = {out} * field_sin({omega} * {z}.xxzz + {quarter});",
        ]

    @_code.register
    def _(self, step: g.Sum, out: str, inputs: list[str]) -> list[str]:
        return [f"{out} = {inputs[0]}[i] + {inputs[1]}[i];"]

    @_code.register
    def _(self, step: g.Product, out: str, inputs: list[str]) -> list[str]:
        return [f"{out} = {inputs[0]}[i] * {inputs[1]}[i];"]


def _groups(width: int) -> int:
    """Fours in a vector."""
    return (width + 3) // 4
