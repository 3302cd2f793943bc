"""What the command prints: results on stdout (as text, or as one JSON document), everything else on stderr."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from staf._documents import Document


def printable(text: str) -> str:
    """The text with escapes for bytes of file names that are no letters, which stdout may refuse.

    >>> printable("photo-\\udcff")
    'photo-\\\\udcff'
    """
    return text.encode(errors="backslashreplace").decode()


class Terminal:
    """Prints for people or for machines; `command` is what the user typed, for messages that say how to resume."""

    def __init__(self, command: Sequence[str], *, as_json: bool = False) -> None:
        self.command = list(command)
        self.as_json = as_json
        self.quiet = False

    def resume_command(self) -> str:
        """The command that continues what this one began, ready to be pasted into a shell."""
        words = [word for word in self.command[1:] if word not in ("--resume", "--overwrite")]
        return f"{self.command[0]} {shlex.join([*words, '--resume'])}"

    def rerun_command(self, out: Path) -> str:
        """The command that does all of this one again, into another folder.

        >>> Terminal(["staf", "fit", "a.png", "--out", "run", "--steps", "9"]).rerun_command(Path("run-2"))
        'staf fit a.png --steps 9 --out run-2'
        """
        words, rest = [], iter(self.command[1:])
        for word in rest:
            if word in ("--out", "-o"):
                next(rest, None)
            elif not word.startswith("--out=") and word not in ("--overwrite", "--resume"):
                words.append(word)
        return f"{self.command[0]} {shlex.join([*words, '--out', str(out)])}"

    def say(self, text: str = "") -> None:
        """A line of the result, for people."""
        if not (self.as_json or self.quiet):
            print(printable(text))

    def note(self, text: str) -> None:
        """A line beside the result."""
        print(printable(text), file=sys.stderr)

    def explain(self, title: str, reasons: Iterable[str]) -> None:
        """Why the plan is what it is; on stderr, because it comes before the work."""
        self.note(title)
        for reason in reasons:
            self.note(f"  - {reason}")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table for people: the first column to the left, the others to the right."""
        if self.as_json:
            return
        from rich.box import SIMPLE
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(box=SIMPLE)
        for i, column in enumerate(columns):
            drawn.add_column(Text(column), justify="left" if i == 0 else "right", overflow="fold")
        for row in rows:
            drawn.add_row(*(Text(printable(cell)) for cell in row))

        class Output(Console):
            def on_broken_pipe(self) -> None:
                # rich would exit with 1; the command ends as after any other output that is not read.
                raise BrokenPipeError

        console = Output(file=sys.stdout, width=None if sys.stdout.isatty() else 120)
        # Not the table's own title, which would be wrapped to the width of its columns.
        console.print(Text(printable(title), style="bold"), soft_wrap=True)
        console.print(drawn)

    def finish(self, document: Document) -> None:
        """The result for machines: one strict JSON document, with "inf" and "nan" as strings."""
        if self.as_json:
            from staf._jsonable import jsonable

            print(printable(json.dumps(jsonable(document), indent=2, allow_nan=False, ensure_ascii=False)))
