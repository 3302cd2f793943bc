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
    """`NAME.md` with the tables of these results and how they are measured; without results it is an error."""
    if not results:
        raise ValueError("there are no finished results to draw")
    path = folder / f"{name}.md"
    measured = [f"How it is measured: {protocol}.\n" for protocol in protocols_of(results)]
    atomic_write(path, "\n".join([*(table.to_markdown() for table in tables), *measured]))
    return path


def protocols_of(results: Sequence[RunResult]) -> list[str]:
    """What the results say of how they were measured, each sentence once."""
    return list(dict.fromkeys(str(result.document["protocol"]) for result in results if "protocol" in result.document))


def save_figure(figure: Figure, path: Path, dpi: int = 150) -> Path:
    """Write a figure, whole or not at all."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=dpi)
    return path
