"""report.html: one file, nothing fetched, every string escaped, only its own script allowed."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from staf import __version__
from staf._documents import Document
from staf.figures.palette import as_css
from staf.reports import sections
from staf.reports.text import text

if TYPE_CHECKING:
    from staf.api import Fit


def report_html(fit: Fit, measures: Document, view: str | None = None) -> str:
    """The report of a fit whose measures, as in metrics.json, are known; `view` is the page beside it, if any."""
    style, script = as_css() + _resource("report.css"), _resource("report.js")
    title = fit.signal.name if fit.signal is not None else "Fit"
    parts = [
        sections.heading(fit, view),
        sections.numbers(fit, measures),
        sections.look(fit),
        sections.training(fit),
        sections.activations(fit),
        sections.settings(fit),
        sections.reproduce(fit),
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{text(title)}: staf report</title>
<style>{style}</style>
</head>
<body>
{"".join(parts)}
<footer>Written by staf {text(__version__)}. This page holds everything it shows and loads nothing.</footer>
<script>{script}</script>
</body>
</html>
"""


def policy(style: str, script: str) -> str:
    """A content security policy under which only this style, this script and embedded pictures work.

    >>> policy("", "").split("; ")[:2]
    ["default-src 'none'", 'img-src data:']
    """
    return "; ".join(
        [
            "default-src 'none'",
            "img-src data:",
            "media-src data:",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
