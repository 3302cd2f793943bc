"""A hook for mkdocs: every notebook in docs/ becomes a page, with the outputs that are stored in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Replace each notebook by the Markdown made from it, at the same place in the navigation."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        content = to_markdown(json.loads(Path(file.abs_src_path or "").read_text("utf-8")))
        page = File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=content)
        files.remove(file)
        files.append(page)
    return files


def on_config(config: Any) -> Any:
    """Point the navigation at the pages instead of the notebooks."""
    config["nav"] = _renamed(config["nav"])
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to notebooks lead to their pages."""
    return re.sub(r"\]\(([^)\s]+)\.ipynb\)", r"](\1.md)", markdown)


def _renamed(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_renamed(part) for part in entry]
    if isinstance(entry, dict):
        return {name: _renamed(part) for name, part in entry.items()}
    return entry.removesuffix(".ipynb") + ".md" if entry.endswith(".ipynb") else entry


def to_markdown(notebook: dict[str, Any]) -> str:
    """Text as it is, code fenced, outputs below it: HTML and pictures embedded, the rest as plain text."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'
    if "image/png" in data:
        return f'<img alt="output" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    words = "".join(output.get("text") or data.get("text/plain", ""))
    return f"```text\n{words.rstrip()}\n```"
