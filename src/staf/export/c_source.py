"""C: a field as one function with its weights, for any compiler of C99 and for C++."""

from __future__ import annotations

import os
from functools import singledispatch
from pathlib import Path

from staf._files import atomic_write
from staf.export import graph as g
from staf.export.describe import describe
from staf.export.meaning import Exportable, Meaning, meaning
from staf.export.numbers import comment, literal
from staf.nn.radiance_field import LARGEST_LOG_DENSITY

PER_LINE = 8


def export_c(field: Exportable, path: str | os.PathLike[str]) -> Path:
    """Write a field as C source: `void field(const float *p, float *values)`, which needs the C library alone.

    >>> import numpy as np, staf, tempfile
    >>> fit = staf.fit(np.zeros((4, 4), np.float32), field=staf.siren(2, 1, width=8), steps=1, progress=False)
    >>> "void field(const float *p, float *values)" in export_c(fit.field, tempfile.mkdtemp() + "/a.c").read_text()
    True
    """
    atomic_write(path, c_source(describe(field.module), meaning(field)))
    return Path(path)


def c_source(graph: g.Graph, meant: Meaning) -> str:
    """The source text."""
    tables, body = [], []
    for index, step in enumerate(graph.steps, start=1):
        names = {name: f"{name}_{index}" for name in g.arrays(step)}
        for name, array in g.arrays(step).items():
            tables.append(_table(names[name], array))
        body.append(f"    float v{index}[{graph.widths[index]}];")
        inputs = ["p" if source == 0 else f"v{source}" for source in step.sources]
        lines = _code(step, f"v{index}", inputs, names, graph.widths[index], graph.widths[step.sources[0]])
        body.extend("    " + line for line in lines)
    scale, offset = literal(meant.transform.scale, "f"), literal(meant.transform.offset, "f")
    result = f"v{len(graph.steps)}[i]"
    result = result if meant.transform[:2] == (0, 1) else f"{offset} + {scale} * {result}"
    return "\n".join(
        [
            *comment(["A field made by staf.", *meant.sentences(graph.in_features, graph.out_features)], "/* ", " */"),
            "#include <math.h>",
            "",
            f"enum {{ FIELD_INPUTS = {graph.in_features}, FIELD_OUTPUTS = {graph.out_features} }};",
            "",
            *tables,
            "",
            "void field(const float *p, float *values) {",
            *body,
            f"    for (int i = 0; i < {graph.out_features}; i++) values[i] = {result};",
            "}",
            "",
        ]
    )


def _table(name: str, array: g.Array) -> str:
    numbers = [literal(value, "f") for value in array.ravel().tolist()]
    lines = [", ".join(numbers[at : at + PER_LINE]) for at in range(0, len(numbers), PER_LINE)]
    return f"static const float {name}[{array.size}] = {{\n    " + ",\n    ".join(lines) + "\n};"


@singledispatch
def _code(step: g.Step, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    """The lines that fill `out`, of `width` numbers, from `inputs`, the first of `length` numbers."""
    raise TypeError(f"no C form of {type(step).__name__}")


def _each(width: int, out: str, value: str) -> list[str]:
    return [f"for (int i = 0; i < {width}; i++) {out}[i] = {value};"]


@_code.register
def _(step: g.Dense, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    (x,) = inputs
    return [
        f"for (int i = 0; i < {width}; i++) {{",
        f"    float total = {tables['bias']}[i];",
        f"    for (int k = 0; k < {length}; k++) total += {tables['weight']}[i * {length} + k] * {x}[k];",
        f"    {out}[i] = total;",
        "}",
    ]


@_code.register
def _(step: g.SineSeries, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    columns, terms = step.amplitude.shape
    at = "t" if columns == 1 else f"i * {terms} + t"
    angle = f"{tables['frequency']}[{at}] * {inputs[0]}[i] + {tables['phase']}[{at}]"
    return [
        f"for (int i = 0; i < {width}; i++) {{",
        f"    float total = {literal(step.offset, 'f')};",
        f"    for (int t = 0; t < {terms}; t++) total += {tables['amplitude']}[{at}] * sinf({angle});",
        f"    {out}[i] = total;",
        "}",
    ]


@_code.register
def _(step: g.Finer, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    x = f"{inputs[0]}[i]"
    return _each(width, out, f"sinf({literal(step.omega0, 'f')} * (fabsf({x}) + 1.0f) * {x})")


@_code.register
def _(step: g.Gauss, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    scaled = f"({literal(step.sigma, 'f')} * {inputs[0]}[i])"
    return _each(width, out, f"expf(-{scaled} * {scaled})")


@_code.register
def _(step: g.Relu, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    return _each(width, out, f"{inputs[0]}[i] > 0.0f ? {inputs[0]}[i] : 0.0f")


@_code.register
def _(step: g.Chebyshev, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    return [
        f"for (int i = 0; i < {length}; i++) {{",
        f"    float u = tanhf({inputs[0]}[i]), before = 1.0f, now = u;",
        f"    for (int k = 0; k < {step.degree}; k++) {{",
        f"        {out}[i * {step.degree} + k] = now;",
        "        float next = 2.0f * u * now - before;",
        "        before = now;",
        "        now = next;",
        "    }",
        "}",
    ]


@_code.register
def _(step: g.Radiance, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    density = f"{out}[0] = expf(fminf({inputs[0]}[0], {literal(LARGEST_LOG_DENSITY, 'f')}));"
    colour = f"{out}[i] = 1.0f / (1.0f + expf(-{inputs[0]}[i]));"
    return [density, f"for (int i = 1; i < {width}; i++) {colour}"]


@_code.register
def _(step: g.Window, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    return [
        f"for (int i = 0; i < {width}; i++) {{",
        "    float distance = 0.0f;",
        f"    for (int k = 0; k < {length}; k++) {{",
        f"        float away = {inputs[0]}[k] - {tables['centre']}[i * {length} + k];",
        "        distance += away * away;",
        "    }",
        f"    {out}[i] = expf(-0.5f * {tables['sharpness']}[i] * distance);",
        "}",
    ]


@_code.register
def _(step: g.HashGrid, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    length = len(step.levels[0].resolution)
    features, corners = step.table.shape[1], 2**length
    rows = [[*level.resolution, level.offset, level.rows, int(level.dense)] for level in step.levels]
    numbers = ", ".join("{" + ", ".join(f"{number}u" for number in row) + "}" for row in rows)
    primes = ", ".join(f"{prime}u" for prime in g.PRIMES[:length][::-1])
    smooth = "s[k] = s[k] * s[k] * (3.0f - 2.0f * s[k]);" if step.smooth else ""
    return [
        f"static const unsigned levels_{out}[{len(rows)}][{length + 3}] = {{{numbers}}};",
        f"static const unsigned primes_{out}[{length}] = {{{primes}}};",
        f"for (int l = 0; l < {len(rows)}; l++) {{",
        f"    const unsigned *level = levels_{out}[l];",
        f"    unsigned cell[{length}];",
        f"    float s[{length}];",
        f"    for (int k = 0; k < {length}; k++) {{",
        f"        float x = {inputs[0]}[k] < -1.0f ? -1.0f : {inputs[0]}[k] > 1.0f ? 1.0f : {inputs[0]}[k];",
        "        float place = (x + 1.0f) * (0.5f * (float)level[k]);",
        "        cell[k] = (unsigned)place;",
        "        if (cell[k] > level[k] - 1) cell[k] = level[k] - 1;",
        "        s[k] = place - (float)cell[k];",
        *([f"        {smooth}"] if smooth else []),
        "    }",
        f"    for (int f = 0; f < {features}; f++) {out}[l * {features} + f] = 0.0f;",
        f"    for (int corner = 0; corner < {corners}; corner++) {{",
        "        float weight = 1.0f;",
        "        unsigned row = 0;",
        f"        for (int k = 0; k < {length}; k++) {{",
        "            unsigned bit = (corner >> k) & 1, vertex = cell[k] + bit;",
        "            weight *= bit ? s[k] : 1.0f - s[k];",
        f"            row = level[{length + 2}] ? row * (level[k] + 1) + vertex : row ^ (vertex * primes_{out}[k]);",
        "        }",
        f"        if (!level[{length + 2}]) row &= level[{length + 1}] - 1;",
        f"        const float *features = {tables['table']} + (row + level[{length}]) * {features};",
        f"        for (int f = 0; f < {features}; f++) {out}[l * {features} + f] += weight * features[f];",
        "    }",
        "}",
    ]


@_code.register
def _(step: g.Gabor, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    square = " + ".join(f"{x}[{at}] * {x}[{at}]" for x in inputs for at in ("i", "i + 1"))
    omega, sigma2 = literal(step.omega0, "f"), literal(step.sigma0**2, "f")
    return [
        f"for (int i = 0; i < {width}; i += 2) {{",
        f"    float envelope = expf(-{sigma2} * ({square}) - {omega} * {inputs[0]}[i + 1]);",
        f"    {out}[i] = envelope * cosf({omega} * {inputs[0]}[i]);",
        f"    {out}[i + 1] = envelope * sinf({omega} * {inputs[0]}[i]);",
        "}",
    ]


@_code.register
def _(step: g.Sum, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    return _each(width, out, f"{inputs[0]}[i] + {inputs[1]}[i]")


@_code.register
def _(step: g.Product, out: str, inputs: list[str], tables: dict[str, str], width: int, length: int) -> list[str]:
    return _each(width, out, f"{inputs[0]}[i] * {inputs[1]}[i]")
