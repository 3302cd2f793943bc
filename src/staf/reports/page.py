"""report.html: one file, nothing fetched, every string escaped, only its own script allowed."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from staf import __version__
from staf._documents import Document
from staf._page_policy import page_policy
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
    """A content security policy under which only this style, this script and embedded pictures and sounds work."""
    return page_policy(style, script, "img-src data:", "media-src data:")


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
