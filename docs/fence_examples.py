"""An extension for griffe: examples in docstrings become code blocks, which Markdown would take for quotations."""

from __future__ import annotations

from typing import Any

import griffe


class FenceExamples(griffe.Extension):
    """Wraps every run of lines that begins with >>> and ends at a blank line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """The text with its examples fenced, at whatever depth they are indented.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2"))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    lines: list[str] = []
    indent: str | None = None
    for line in docstring.splitlines():
        bare = line.lstrip()
        if indent is None and bare.startswith(">>>"):
            indent = line[: len(line) - len(bare)]
            lines.append(f"{indent}```pycon")
        elif indent is not None and not bare:
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    if indent is not None:
        lines.append(f"{indent}```")
    return "\n".join(lines)
