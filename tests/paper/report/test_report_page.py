"""The page of all tables and figures, and the Markdown beside each: a stranger finds what the words in them mean."""

from __future__ import annotations

import json

from paper.report.output import write_tables
from paper.report.report_page import write_report
from paper.runner import load_results
from staf._tables import Table


def _activations(folder):
    """A folder with one result of `activations`."""
    folder.mkdir(parents=True)
    document = {
        "format": 1, "status": "done", "experiment": "activations", "protocol": "each formula on <3> points",
        "configuration": {}, "metrics": {}, "machine": "here", "date": "2026-01-01", "arrays": [],
        "details": {"rows": {"STAF": {"sign changes": 4.0}}},
    }  # fmt: skip
    (folder / "one.json").write_text(json.dumps(document))
    (folder / "activations.png").write_bytes(b"")


def test_the_page_explains_its_words_and_how_each_table_is_measured(tmp_path):
    _activations(tmp_path / "activations")
    page = write_report(tmp_path, ["activations", "nerf"]).read_text("utf-8")
    assert "<dt>as released</dt>" in page
    assert "How it is measured: each formula on &lt;3&gt; points." in page
    assert 'src="activations/activations.png"' in page
    assert "Data of a full run: nothing." in page
    assert "Time of a full run: seconds on a CPU." in page
    assert page.count("<b>No result.</b>") == 1, "nerf has none"


def test_markdown_says_how_it_was_measured_once(tmp_path):
    _activations(tmp_path / "activations")
    results = load_results(tmp_path / "activations")
    text = write_tables("x", [*results, *results], [Table("A table", ["network"], [["staf"]])], tmp_path).read_text()
    assert text.startswith("A table")
    assert text.count("How it is measured: each formula on <3> points.") == 1
