"""`image_study`: a table or figure of rows of networks on images, from its published numbers to its pictures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from paper.data.preparation import Preparation, prepared
from paper.data.sources import add_source_arguments, chosen_sources, image_sources, write_stack
from paper.report.output import save_figure, write_tables
from paper.report.side_by_side import Column, images_of, row_of, side_by_side
from paper.runner.options import add_planned_for, add_protocols, add_seeds, count
from paper.runner.result import RunResult
from paper.study.image_runs import Grid, ImageRun, ImageRuns
from paper.study.rows import PROTOCOLS, Length, Row
from paper.study.study import Study
from staf._tables import Table

QUICK_ROWS = 2
COLUMNS = (
    Column("psnr", "PSNR", 2),
    Column("ssim", "SSIM", 4),
    Column("lpips", "LPIPS", 5),
    Column("interpolation_psnr", "between pixels", 1),
    Column("while_training_psnr", "PSNR while training", 2, ("paper", "released")),
)
Figure = Callable[[Sequence[RunResult]], Any]


@dataclass(frozen=True)
class ImageStudy:
    """What one table or figure says: everything else is shared.

    Args:
        name: on the command line.
        summary: one line.
        rows: in the paper's order.
        length: iterations, and how they are read.
        published: the paper's numbers by row and measure; `psnr_sd` is the spread of `psnr`.
        preparation: what is done to images that do not have the paper's size yet.
        protocols: those that run by default.
        columns: measures of the table.
        figures: by file name.
        perceptual: rows that have LPIPS in their loss, and its weight.
        needs: the paper's data, in words.
        time: how long all of it takes, in words.
        order: the measure that sorts rows; rows stay in the paper's order without one.
        quick: other defaults of a quick run.
        make_tables: other tables than `side_by_side`.
        make_images: synthetic pictures of a side, by name, in place of the user's.
        by_image: a table for each image as well.
        look: what else is kept of each fit, as arrays.
        reads: another study whose result files this one can be drawn from.
    """

    name: str
    summary: str
    rows: tuple[Row, ...]
    length: Length
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    preparation: Preparation = field(default_factory=Preparation)
    protocols: tuple[str, ...] = ("released", "ours")
    columns: tuple[Column, ...] = COLUMNS
    figures: Mapping[str, Figure] = field(default_factory=dict)
    perceptual: Mapping[str, float] = field(default_factory=dict)
    needs: str = ""
    time: str = ""
    order: str | None = None
    quick: Mapping[str, Any] = field(default_factory=dict)
    make_tables: Callable[[Sequence[RunResult]], list[Table]] | None = None
    make_images: Callable[[int], Mapping[str, np.ndarray]] | None = None
    by_image: bool = False
    look: Callable[[Any], Mapping[str, np.ndarray]] | None = None
    reads: str = ""

    def study(self) -> Study:
        """The study as the command knows it."""
        names = [row.name for row in self.rows]
        quick = {"iterations": 2, "rows": names[:QUICK_ROWS], **self.quick}
        return Study(
            self.name,
            self.summary,
            "" if self.make_images else "images",
            quick,
            self.add_arguments,
            self.sweep,
            self.tables,
            self.draw,
            self.needs,
            self.time,
            self.reads,
            tuple((row.name, p) for row in self.rows for p in self.protocols if p in row.protocols),
        )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Options that all such studies have."""
        names = [row.name for row in self.rows]
        if self.make_images is None:
            add_source_arguments(parser, recordings=False)
        else:
            parser.add_argument("--side", type=count, default=256, metavar="N", help="pixels a side of the pictures")
        parser.add_argument("--rows", nargs="+", default=names, metavar="NAME", help=f"of: {', '.join(names)}")
        add_protocols(parser, PROTOCOLS, self.protocols)
        fits = f"of each fit (default: {self.length.iterations:,})"
        parser.add_argument("--iterations", type=count, default=self.length.iterations, metavar="N", help=fits)
        parser.add_argument(
            "--epochs",
            action=argparse.BooleanOptionalAction,
            default=self.length.epochs,
            help="read the paper's iterations as epochs of 4,096 points, as its released code does",
        )
        add_seeds(parser)
        parser.add_argument("--width", type=count, metavar="N", help="of every network (default: its own)")
        parser.add_argument("--rate", type=float, metavar="R", help="of every recipe; rows are named by it")
        parser.add_argument(
            "--falls-to", type=float, metavar="R", help="the rate at the end, with --rate; it falls exponentially"
        )
        parser.add_argument("--together", action="store_true", help="train the networks of all images at once")
        add_planned_for(parser)

    def sweep(self, arguments: argparse.Namespace) -> tuple[ImageRuns, list[ImageRun]]:
        """The experiment and its configurations."""
        known = {row.name: row for row in self.rows}
        unknown = [name for name in arguments.rows if name not in known]
        if unknown:
            raise ValueError(f"--rows must be of {', '.join(known)}, got {', '.join(unknown)}")
        data = Path(arguments.folder) / "data"
        if self.make_images is None:
            sources = prepared(chosen_sources(arguments), self.preparation, data)
        else:
            data.mkdir(parents=True, exist_ok=True)
            sources = image_sources(
                [write_stack(data / f"made-{arguments.side}.npy", self.make_images(arguments.side))]
            )
        rows = [known[name] for name in arguments.rows]
        if arguments.rate is not None:
            rows = [at_rate(row, arguments.rate, arguments.falls_to) for row in rows]
        elif arguments.falls_to is not None:
            raise ValueError("--falls-to needs --rate, the rate at the beginning")
        if arguments.width is not None:
            rows = [replace(row, arguments={**row.arguments, "width": arguments.width}) for row in rows]
        length = Length(arguments.iterations, arguments.epochs)
        chosen = (arguments.protocols, arguments.seeds, length, arguments.together)
        grid = Grid(rows, *chosen, self.perceptual, arguments.planned_for)
        return ImageRuns(self.name, sources, look=self.look), grid.runs(list(sources))

    def tables(self, results: Sequence[RunResult]) -> list[Table]:
        """The tables of these results."""
        return self.side_by_side(results) if self.make_tables is None else self.make_tables(results)

    def side_by_side(self, results: Sequence[RunResult]) -> list[Table]:
        """The paper's numbers and ours, of all images and, if asked for, of each."""
        order: Any = {"rows": [row.name for row in self.rows], "order": self.order}
        title = self.summary + self.shortened(results)
        found = [side_by_side(title, results, self.columns, self.published, **order)]
        if self.by_image:
            names = dict.fromkeys(name for result in results for name in images_of(result))
            parts = {name: [r for r in results if name in images_of(r)] for name in names}
            found += [side_by_side(name, part, self.columns, {}, **order) for name, part in parts.items()]
        return found

    def shortened(self, results: Sequence[RunResult]) -> str:
        """What the title adds for runs that are shorter or narrower than the summary says, as with `--quick`."""
        lengths = sorted({int(result.configuration["length"]["iterations"]) for result in results})
        widths = {result.configuration["row"]["arguments"].get("width") for result in results} - {None}
        parts = []
        if lengths and lengths != [self.length.iterations]:
            parts.append(f"{' and '.join(f'{n:,}' for n in lengths)} iterations")
        if widths:
            parts.append(f"layers of {' and '.join(map(str, sorted(widths)))}")
        return f"; run here: {', '.join(parts)}" if parts else ""

    def draw(self, results: Sequence[RunResult], folder: Path) -> list[Path]:
        """The tables as Markdown and the figures as PNG, from the results alone."""
        place = {row.name: index for index, row in enumerate(self.rows)}
        results = sorted(results, key=lambda result: place.get(row_of(result), len(place)))
        written = [write_tables(self.name, results, self.tables(results), folder)]
        return written + [save_figure(make(results), folder / f"{name}.png") for name, make in self.figures.items()]


def at_rate(row: Row, rate: float, falls_to: float | None = None) -> Row:
    """The row with another rate, under a name that says so; `falls_to` gives it an exponential schedule to there.

    >>> at_rate(Row("finer", "finer"), 5e-4).name, at_rate(Row("siren", "siren"), 1e-3, 5e-5).name
    ('finer at 5e-4', 'siren at 1e-3 to 5e-5')
    """
    if not 0 < rate < math.inf:
        raise ValueError(f"--rate must be positive and finite, got {rate}")
    recipe: dict[str, Any] = {**row.recipe, "rate": rate}
    name = f"{row.name} at {_scientific(rate)}"
    if falls_to is not None:
        if not 0 < falls_to <= rate:
            raise ValueError(f"--falls-to must be positive and at most --rate, {rate}, got {falls_to}")
        recipe["schedule"] = {"name": "exponential", "final": falls_to / rate}
        name += f" to {_scientific(falls_to)}"
    return replace(row, name=name, recipe=recipe)


def _scientific(rate: float) -> str:
    power = math.floor(math.log10(rate))
    return f"{rate / 10.0**power:.4g}e{power}"


def rows_of(*models: str, **labels: str) -> tuple[Row, ...]:
    """A row for each network under its own name.

    >>> [row.name for row in rows_of("staf", "siren")]
    ['staf', 'siren']
    """
    return tuple(Row(labels.get(model, model), model) for model in models)
