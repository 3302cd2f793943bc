"""Every example of docs/theory runs, every page is linked, and every figure is there."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from staf.theory.registry import RESULTS

DOCS = Path(__file__).parents[2] / "docs" / "theory"
PAGES = sorted(DOCS.glob("*.md"))
STATEMENTS = [201, 231, 251, 289, 312, 479, 505, 575, 1145, 1233, 1257, 1280, 1313, 1384, 1605, 1617]


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


def evidence(group: str) -> ModuleType:
    """A file of docs/theory/evidence."""
    source = importlib.util.spec_from_file_location(f"evidence_{group}", DOCS / "evidence" / f"{group}.py")
    assert source is not None
    assert source.loader is not None
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    return module


def test_every_erratum_has_its_evidence_and_the_page_prints_the_same_numbers() -> None:
    formulas, conditions, tables = (evidence(group) for group in ("formulas", "conditions", "tables"))
    assert {path.stem for path in (DOCS / "evidence").glob("*.py")} == {"__main__", "formulas", "conditions", "tables"}
    page = (DOCS / "errata.md").read_text(encoding="utf-8")
    numbered = re.findall(r"^\| (E\d+) \|", page, flags=re.MULTILINE)
    assert sorted(numbered, key=lambda name: int(name[1:])) == [f"E{n}" for n in range(1, 24)]
    named = [name for group in (formulas, conditions, tables) for name in group.EVIDENCE]
    assert {name.split()[0] for name in named} == {*numbered, "Counts", "Right"}
    quick = (
        formulas.bessel_bound, conditions.collisions, tables.counts, formulas.single_branch,
        conditions.growth_of_frequencies, formulas.activated_output, tables.ssim_spread, tables.two_tables,
        tables.index_typos,
    )  # fmt: skip
    for compute in quick:
        numbers = re.findall(r"\d{1,3}(?:,\d{3})+|\d+\.\d+", compute())
        assert [number for number in numbers if number not in page] == []
    stated = re.findall(r"differ by less than (\S+) in 36 cases", page)
    assert stated == ["1e-12"]
    assert float(re.findall(r"[\d.e-]+$", formulas.integral_lemma())[0]) < float(stated[0])


def test_every_statement_of_the_paper_has_its_function_and_its_test() -> None:
    rows = re.findall(
        r"^\| .+?, l\. (\d+) \| `(.+?)` \| `(.+?)` \|", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE
    )
    # Lines of the paper's source at which a theorem, lemma, corollary or remark begins.
    assert [int(line) for line, _, _ in rows] == STATEMENTS
    for _, function, tests in rows:
        module, _, name = function.rpartition(".")
        assert hasattr(importlib.import_module(f"staf.{module}"), name), function
        assert (DOCS.parents[1] / "tests" / "theory" / tests).is_file(), tests


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
