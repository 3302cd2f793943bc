"""Every example of docs/theory runs, every page is linked, and every figure is there."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

from staf.theory.registry import RESULTS

DOCS = Path(__file__).parents[2] / "docs" / "theory"
PAGES = sorted(DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.failed == 0
    assert result.attempted > 0 or page.stem == "errata"


def test_pages_and_figures_are_linked() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert {page.name for page in PAGES} - {"index.md"} == set(re.findall(r"\((\w+\.md)\)", index))
    shown = {name for page in PAGES for name in re.findall(r"\(img/([\w-]+)\.png\)", page.read_text(encoding="utf-8"))}
    assert shown == set(RESULTS) == {path.stem for path in (DOCS / "img").glob("*.png")}


def test_every_erratum_has_its_evidence_and_the_page_prints_the_same_numbers() -> None:
    source = importlib.util.spec_from_file_location("errata_evidence", DOCS / "errata_evidence.py")
    assert source is not None
    assert source.loader is not None
    evidence = importlib.util.module_from_spec(source)
    source.loader.exec_module(evidence)
    page = (DOCS / "errata.md").read_text(encoding="utf-8")
    numbered = re.findall(r"^\| (E\d+) \|", page, flags=re.MULTILINE)
    assert sorted(numbered, key=lambda name: int(name[1:])) == [f"E{n}" for n in range(1, 24)]
    assert {name.split()[0] for name in evidence.EVIDENCE} == {*numbered, "Counts", "Right"}
    quick = (
        evidence.bessel_bound, evidence.collisions, evidence.counts, evidence.single_branch,
        evidence.growth_of_frequencies, evidence.activated_output, evidence.ssim_spread, evidence.two_tables,
        evidence.index_typos,
    )  # fmt: skip
    for compute in quick:
        numbers = re.findall(r"\d{1,3}(?:,\d{3})+|\d+\.\d+", compute())
        assert [number for number in numbers if number not in page] == []
    assert float(re.findall(r"[\d.e-]+$", evidence.integral_lemma())[0]) < 1e-13


def test_formulas_are_typeset() -> None:
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert text.count("$$") % 2 == 0, page.name
        inline = text.replace("$$", "")
        assert inline.count("$") % 2 == 0, page.name
        for formula in re.findall(r"\$[^$\n]*\$", inline):
            assert formula.count("{") == formula.count("}"), formula
            # A bar would end the cell of a table.
            assert "|" not in formula, formula
        assert not re.search(r"^    .* (=|<=) ", text, flags=re.MULTILINE), f"{page.name}: a formula in plain text"
