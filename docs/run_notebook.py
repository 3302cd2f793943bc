"""Execute a notebook and store its outputs: `python docs/run_notebook.py docs/tutorial.ipynb`.

Code cells run in order in one namespace, in a new folder. What they print is kept, and so is the value of a last
expression: as HTML or PNG where it has one, as text otherwise.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def execute(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with fresh outputs; the first cell that fails raises."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    count = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell = {**cell, "execution_count": count, "outputs": _run("".join(cell["source"]), scope, count)}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _run(source: str, scope: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {count}>", "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), scope)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        data: dict[str, Any] = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_()
        elif hasattr(value, "_repr_png_"):
            data["image/png"] = base64.b64encode(value._repr_png_()).decode("ascii")
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        done = execute(json.loads(path.read_text("utf-8")))
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", "utf-8")
        os.replace(temporary, path)


if __name__ == "__main__":
    main()
