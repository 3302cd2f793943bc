"""A study that looks at networks instead of scoring fits: one function that returns measures and arrays for a seed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from paper.data.images import open_image
from paper.data.recordings import open_recording
from paper.data.sources import add_source_arguments, chosen_sources, open_source, source_data
from paper.report.output import save_figure, write_tables
from paper.report.rows import deviation
from paper.report.side_by_side import machine
from paper.runner.experiment import Context, Data, Outcome
from paper.runner.options import add_seeds, count
from paper.runner.result import RunResult
from paper.study.study import Study
from staf._jsonable import digest
from staf._tables import Table
from staf.comparison.result_file import array_hash

# Rows of measures by name, and arrays to draw from.
Look = Callable[..., tuple[Mapping[str, Mapping[str, float]], Mapping[str, np.ndarray]]]


@dataclass(frozen=True)
class LookRun:
    """One look: a seed and the options of the study."""

    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Looking:
    """The experiment; `path` is the image or the recording looked at, empty for none."""

    name: str
    look: Look
    protocol: str
    path: str = ""
    rate: int = 0

    version = 1

    def label(self, configuration: LookRun) -> str:
        return f"{self.name} seed {configuration.seed}"

    def data(self, configuration: LookRun) -> Data:
        if not self.path:
            return Data("none", digest("none"))
        signal = self.signal()
        return Data(signal.name, array_hash(signal.array))

    def signal(self) -> Any:
        """What is looked at; None where the study needs no data."""
        if not self.path:
            return None
        return open_recording(self.path, self.rate) if self.rate else open_image(self.path)

    def run(self, configuration: LookRun, context: Context) -> Outcome:
        signal = self.signal()
        given = {} if signal is None else {"signal": signal}
        rows, arrays = self.look(**given, seed=configuration.seed, device=context.device, **configuration.options)
        flat = {f"{row}: {key}": float(value) for row, values in rows.items() for key, value in values.items()}
        return Outcome(flat, details={"rows": {row: dict(values) for row, values in rows.items()}}, arrays=arrays)


@dataclass(frozen=True)
class LookingStudy:
    """What one such figure says.

    Args:
        name: on the command line.
        summary: one line.
        look: `look(signal=..., seed=..., device=..., **options)`; no `signal` where `data` is empty.
        figure: arrays of the first result to a figure.
        data: `images`, `recording` or nothing.
        options: defaults of the look's own options, which are whole numbers.
        published: the paper's numbers or words by row, shown in a column.
        quick: other defaults of a quick run.
    """

    name: str
    summary: str
    look: Look
    figure: Callable[[Mapping[str, np.ndarray]], Any]
    protocol: str
    data: str = ""
    options: Mapping[str, int] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    needs: str = "nothing"
    time: str = "seconds on a CPU"

    def study(self) -> Study:
        """The study as the command knows it."""
        return Study(
            self.name, self.summary, self.data, self.quick, self.add_arguments, self.sweep, self.tables, self.draw,
            self.needs, self.time,
        )  # fmt: skip

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The data, the seeds, and the look's own options."""
        if self.data:
            add_source_arguments(parser, recordings=self.data == "recording")
        add_seeds(parser)
        for name, default in self.options.items():
            parser.add_argument(f"--{name}", type=count, default=default, metavar="N")

    def sweep(self, arguments: argparse.Namespace) -> tuple[Looking, list[LookRun]]:
        """The experiment, of the first image or of the recording, and a run for each seed."""
        path, rate = "", 0
        if self.data == "recording":
            path, rate = str(arguments.recording), int(arguments.rate)
        elif self.data:
            name, source = next(iter(chosen_sources(arguments).items()))
            path = source.path
            if source.index is not None:
                path = _alone(name, source, Path(arguments.folder) / "data")
        options = {name: getattr(arguments, name) for name in self.options}
        runs = [LookRun(seed, options) for seed in arguments.seeds]
        return Looking(self.name, self.look, self.protocol, path, rate), runs

    def tables(self, results: Sequence[RunResult]) -> list[Table]:
        """A row for each network, mean and standard deviation over seeds, with what the paper says."""
        rows = dict.fromkeys(row for result in results for row in result.details["rows"])
        keys = dict.fromkeys(k for result in results for values in result.details["rows"].values() for k in values)
        body = []
        for row in rows:
            cells = [row, *([self.published.get(row, "-")] if self.published else [])]
            for key in keys:
                values = [float(r.details["rows"][row][key]) for r in results if key in r.details["rows"].get(row, {})]
                spread = deviation(values)
                around = "" if spread is None else f" ± {spread:.2g}"
                cells.append(f"{np.mean(values):.4g}{around}" if values else "-")
            body.append(cells)
        said = ["paper"] if self.published else []
        seeds = "1 seed" if len(results) == 1 else f"{len(results)} seeds"
        return [Table(f"{self.summary} ({seeds}; {machine(results)})", ["network", *said, *keys], body)]

    def draw(self, results: Sequence[RunResult], folder: Path) -> list[Path]:
        """The table as Markdown and the figure of the first seed as PNG."""
        written = write_tables(self.name, results, self.tables(results), folder)
        return [written, save_figure(self.figure(results[0].arrays()), folder / f"{self.name}.png", dpi=110)]


def _alone(name: str, source: Any, folder: Path) -> str:
    """One image of a stack as a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{source_data(source, name).sha256[:12]}.npy"
    np.save(path, open_source(source, name).array)
    return str(path)
