"""Every example of docs/theory runs, every page is linked, and every figure is there."""

from __future__ import annotations

import doctest
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
