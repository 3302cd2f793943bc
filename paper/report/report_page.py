"""One page with all tables and figures of a run of everything: `results/quick/index.html`."""

from __future__ import annotations

import html
import importlib
from collections.abc import Sequence
from pathlib import Path

from paper import PAPER
from paper.report.output import protocols_of
from paper.runner import load_results
from paper.study.study import study_of
from staf._files import atomic_write
from staf._tables import Table

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}"
    "table{border-collapse:collapse;font-size:12px;margin:.5rem 0}td,th{padding:.15rem .5rem;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}img{max-width:100%}"
    "section{border-top:2px solid #888;margin-top:2rem}.wide{overflow-x:auto}"
)


# What the columns and rows of most tables are called.
WORDS = (
    ("published, paper", "the paper's own numbers, most of them of other images"),
    ("by the paper", "run here by the paper's text, other networks with the constants and rates of their authors"),
    ("as released", "run here by the code of STAF's authors, other networks as by the paper"),
    ("our default, ours", "run here by this library's default plan"),
    (
        "between pixels",
        "PSNR in dB of twice the size, against the bicubic enlargement: low if there is noise between pixels",
    ),
    (
        "PSNR while training",
        "what the released notebooks print: the best epoch of outputs gathered while the weights change",
    ),
    ("±", "standard deviation over images, or over seeds of one image"),
)


def write_report(folder: Path, names: Sequence[str]) -> Path:
    """The page of what the folders `folder/NAME` hold."""
    parts = [_section(folder, name) for name in names]
    links = " · ".join(f'<a href="#{html.escape(name)}">{html.escape(name)}</a>' for name in names)
    body = (
        "<h1>The paper's tables and figures</h1><p>A quick run: small data and few steps. It shows that every table "
        "and figure can be made, and none of its numbers is a result. Results are in docs/results; "
        "<code>python -m paper NAME --data DIR</code> runs one in full.</p>"
        f"<nav>{links}</nav><h2>Words in the tables</h2><dl>{_words()}</dl>" + "".join(parts)
    )
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>The paper</title><style>{STYLE}</style>{body}'
    path = folder / "index.html"
    atomic_write(path, page + "</html>\n")
    return path


def _section(folder: Path, name: str) -> str:
    study = study_of(importlib.import_module(PAPER[name]))
    results = load_results(folder / name, name) if (folder / name).is_dir() else []
    title = f"<section id={html.escape(name)!r}><h2>{html.escape(name)}</h2>"
    summary = f"<p>{html.escape(study.summary)}</p>"
    facts = (("Data of a full run", study.needs), ("Time of a full run", study.time))
    needs = "".join(f"<p>{label}: {html.escape(fact)}.</p>" for label, fact in facts if fact)
    if not results:
        return title + summary + needs + "<p><b>No result.</b></p></section>"
    found = study.tables(results)
    # Most tables begin with the summary.
    title += "" if any(table.title.startswith(study.summary) for table in found) else summary
    tables = "".join(f'<div class="wide">{_table(table)}</div>' for table in found)
    pictures = sorted((folder / name).glob("*.png"))
    shown = "".join(f'<p><img src="{name}/{html.escape(p.name)}" alt="{html.escape(p.stem)}"></p>' for p in pictures)
    said = "".join(f"<p>How it is measured: {html.escape(protocol)}.</p>" for protocol in protocols_of(results))
    return title + needs + tables + said + shown + "</section>"


def _words() -> str:
    return "".join(f"<dt>{html.escape(word)}</dt><dd>{html.escape(said)}</dd>" for word, said in WORDS)


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<p>{html.escape(table.title)}</p><table><tr>{head}</tr>{rows}</table>"
