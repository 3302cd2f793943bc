"""`staf inspect FILE`: what a fitted field has learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.drawing import not_finite
from staf.cli.options import Flag, OutFile
from staf.cli.outputs import prepare_figure
from staf.cli.render import field_of
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from torch import nn

    from staf.api import FittedField


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """Show the parameters of a fitted field, its learnt activations, and the spectrum of each layer."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """A fitted field: a run folder, a model.safetensors, or the checkpoint of an interrupted run."""
    out: OutFile = None
    """The figure to write (default: a PNG beside the field)."""
    overwrite: Flag = False
    """Replace the figure if it exists."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""


def options_for(words: Sequence[str]) -> type[object]:
    return Inspect


def run(options: Inspect, terminal: Terminal) -> int:
    """Load, list, draw."""
    from staf.api import load

    file = field_of(options.file)
    field = load(file)
    out = options.out or file.with_name(f"{file.stem}-inspect.png")
    prepare_figure(out, overwrite=options.overwrite)
    parameters = parameter_rows(field.module)
    activations = activation_rows(field.module)
    terminal.say(repr(field))
    rows = [[r["name"], "x".join(map(str, r["shape"])), f"{r['count']:,}", r["role"]] for r in parameters]
    total = sum(r["count"] for r in parameters)
    terminal.table("Parameters", ("name", "shape", "count", "role"), [*rows, ["total", "", f"{total:,}", ""]])
    terms = [
        [a["layer"], str(a["term"]), f"{a['amplitude']:.4g}", f"{a['frequency']:.4g}", f"{a['phase']:.4g}"]
        for a in activations
    ]
    if terms:
        terminal.table("Learnt sinusoids C sin(Omega x + Phi)", ("layer", "term", "C", "Omega", "Phi"), terms)
    grid = grid_rows(field.module)
    if grid:
        cells = [
            [
                "x".join(map(str, r["resolution"])),
                f"{r['entries']:,}",
                "dense" if r["dense"] else "hashed",
                f"{r['used']:.1%}",
                f"{r['sharing']:.2f}",
                f"{r['collided']:.1%}",
                f"{r['energy'] ** 0.5:.3g}",
                f"{r['changed']:.1%}",
            ]
            for r in grid
        ]
        headings = ("cells", "rows", "", "rows used", "vertices a row", "shared", "size", "rows trained")
        terminal.table("Hash grid, level by level", headings, cells)
    broken = not_finite(field.module)
    drawn = None if broken else str(_draw(field, out))
    if broken:
        terminal.note(f"note: {broken:,} of {total:,} parameters are not finite, so there is no figure")
    else:
        terminal.say(f"figure: {drawn}")
    terminal.finish(
        {
            "verb": "inspect",
            "file": str(options.file),
            "figure": drawn,
            "not_finite": broken,
            "architecture": getattr(field.module, "architecture", None),
            "metadata": {k: v for k, v in field.metadata.items() if k not in ("architecture", "complex", "kind")},
            "parameters": parameters,
            "total": total,
            "sinusoids": activations,
            "grid": grid,
        }
    )
    return 0


def parameter_rows(module: nn.Module) -> list[Document]:
    """Name, shape, count and role of each parameter; a complex number counts as one."""
    from staf.nn import parameter_roles

    roles = parameter_roles(module)
    return [
        {"name": name, "shape": list(p.shape), "count": p.numel(), "role": roles[name]}
        for name, p in module.named_parameters()
    ]


def activation_rows(module: nn.Module) -> list[Document]:
    """C, Omega and Phi of every term of every activation that one layer shares."""
    from staf.nn import SineSeries

    rows = []
    for name, part in module.named_modules():
        if isinstance(part, SineSeries) and part.width is None:
            columns = [values.detach().double().cpu().reshape(-1).tolist() for values in part.sinusoids]
            for term, (amplitude, frequency, phase) in enumerate(zip(*columns, strict=True)):
                row = {"layer": name, "term": term, "amplitude": amplitude, "frequency": frequency, "phase": phase}
                rows.append(row)
    return rows


def grid_rows(module: nn.Module) -> list[Document]:
    """Resolution, occupancy, collisions and energy of every level of every hash grid; see `LevelSummary`."""
    from dataclasses import asdict

    from staf.nn import HashGridEncoding

    grids = [part for part in module.modules() if isinstance(part, HashGridEncoding)]
    return [{**asdict(level), "resolution": list(level.resolution)} for grid in grids for level in grid.summary()]


def _draw(field: FittedField, path: Path) -> Path:
    from staf._files import atomic_path
    from staf.analysis import inspect_figure

    with atomic_path(path) as temporary:
        inspect_figure(field).savefig(temporary, dpi=150)
    return path
