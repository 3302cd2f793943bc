"""Tables of results: text for terminals, Markdown for documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Columns and rows of text.

    >>> print(Table("demo", ("model", "dB"), (("staf", "41.2"),)).to_text())
    demo
    model    dB
    staf   41.2
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_text(self) -> str:
        """Aligned columns: the first to the left, the others to the right."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        out = [self.title]
        for line in lines:
            cells = [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]
            out.append("  ".join(cells).rstrip())
        return "\n".join(out)

    def to_markdown(self) -> str:
        """A Markdown table under its title."""
        head = "| " + " | ".join(self.columns) + " |"
        rule = "|" + "|".join("---" if i == 0 else "---:" for i in range(len(self.columns))) + "|"
        body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in self.rows]
        return "\n".join([self.title, "", head, rule, *body]) + "\n"


def mean(values: Sequence[float]) -> float:
    """The mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def number(value: float, digits: int = 2, *, scientific: bool = False) -> str:
    """A number for a table, with so many digits after the point.

    >>> number(41.237), number(math.inf), number(math.nan), number(3.51e-7, scientific=True)
    ('41.24', 'inf', '-', '3.51e-07')
    """
    if math.isnan(value):
        return "-"
    return f"{value:.{digits}{'e' if scientific else 'f'}}" if math.isfinite(value) else str(value)
