"""The files that an experiment draws: its tables as Markdown and its figures as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paper.runner.result import RunResult
from staf._files import atomic_path, atomic_write
from staf._tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_tables(name: str, results: Sequence[RunResult], tables: Sequence[Table], folder: Path) -> Path:
    """`NAME.md` with the tables of these results; without results it is an error."""
    if not results:
        raise ValueError("there are no finished results to draw")
    path = folder / f"{name}.md"
    atomic_write(path, "\n".join(table.to_markdown() for table in tables))
    return path


def save_figure(figure: Figure, path: Path, dpi: int = 150) -> Path:
    """Write a figure, whole or not at all."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=dpi)
    return path
