"""A hook for mkdocs: formulas written as LaTeX become MathML, which browsers typeset by themselves.

No script runs and nothing is fetched from elsewhere: the page holds the formula, and the site a font for mathematics
(STIX Two Math, which comes with the package ziamath), without which browsers do not know where to put an index.
"""

from __future__ import annotations

import html
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

FONT = "STIXTwoMath-Regular.ttf"
FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', flags=re.DOTALL)
DELIMITERS = re.compile(r"^\s*(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])\s*$", flags=re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the font to the site; docs/formulas.css names it."""
    package = find_spec("ziamath")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the documentation needs ziamath for its font: pip install 'staf[docs]'")
    path = Path(package.origin).parent / "fonts" / FONT
    files.append(File.generated(config, f"assets/{FONT}", abs_src_path=str(path)))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Replace what the Markdown extension has marked."""
    return FORMULA.sub(_typeset, content)


def _typeset(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    inner = DELIMITERS.match(html.unescape(found[2]))
    if inner is None:
        raise ValueError(f"not a formula: {found[0]}")
    display = "block" if found[1] == "div" else "inline"
    made = convert(inner[1].strip(), display=display)
    return f'<div class="formula">{made}</div>' if display == "block" else made
