"""The documentation builds without a warning and without a network, and what it shows is true."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from staf.kinds import Image
from staf.nn import NETWORKS
from staf.viewer.page import joined_script

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES_WITH_CODE = (
    "how-to/reports.md",
    "how-to/your-own-network.md",
    "how-to/your-own-task.md",
    "how-to/export.md",
    "how-to/view.md",
    "how-to/callbacks.md",
)
PAGES_WITH_CODE += ("how-to/logging.md", "how-to/sizes.md", "how-to/field-sets.md", "defaults.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    # A proxy that does not exist: a build that fetches anything fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    # Not --quiet: it would hide the warnings from --strict too.
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1", "STAF_DOCS_FULL": "false"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds_without_a_warning(site: Path) -> None:
    for page in ("index.html", "tutorial.html", "networks.html", "theory/index.html", "kernels.html"):
        assert (site / page).exists(), page


def test_the_site_can_be_walked_from_disk(site: Path) -> None:
    links = re.findall(r'href="([^"#:]+)"', (site / "index.html").read_text("utf-8"))
    assert "how-to/images.html" in links
    assert all((site / link).is_file() for link in links)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = re.findall(r": (\S+\.(?:md|ipynb))$", (ROOT / "mkdocs.yml").read_text("utf-8"), flags=re.M)
    found = [path.relative_to(DOCS).as_posix() for kind in ("md", "ipynb") for path in DOCS.rglob(f"*.{kind}")]
    assert sorted(pages) == sorted(found)


def test_the_reference_shows_docstrings_and_their_examples(site: Path) -> None:
    page = (site / "api" / "surface.html").read_text("utf-8")
    assert "whichever is reached first" in page
    assert '<span class="gp">' in page, "an example must be highlighted"
    assert "&gt;&gt;&gt; " not in re.sub(r"<pre.*?</pre>", "", page, flags=re.S), "examples must be code"


def test_the_tutorial_shows_stored_outputs(site: Path) -> None:
    page = (site / "tutorial.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") >= 6
    assert " dB" in page


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for address in re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*?(?:src|href)="([^"]+)"', page.read_text("utf-8")
        ):
            assert not address.startswith(("http:", "https:", "//")), (page, address)


def test_the_gallery_holds_its_fields_and_the_present_viewer(site: Path) -> None:
    for field in (DOCS / "gallery").iterdir():
        page = (site / "gallery" / f"{field.stem}.html").read_text("utf-8")
        assert page == _script("gallery_pages").gallery_page(field)
        assert joined_script() in page
        assert not (site / "gallery" / field.name).exists()
    linked = re.findall(r'<iframe src="([^"]+)"', (site / "gallery.html").read_text("utf-8"))
    assert sorted(linked) == [f"gallery/{name}.html" for name in ("photo", "shape", "sound")]


def test_every_python_block_of_these_pages_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        for page in PAGES_WITH_CODE:
            scope: dict[str, object] = {}
            for block in blocks((DOCS / page).read_text("utf-8")):
                exec(compile(block, page, "exec"), scope)
    finally:
        # What the second page registers.
        NETWORKS.pop("cosine", None)


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=["README", "index"])
def test_the_ten_lines_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image(np.random.default_rng(0).integers(0, 256, (24, 24, 3), np.uint8)).save("photo.png")
    (block,) = blocks(page.read_text("utf-8"))
    short = block.replace("seconds=60", "steps=2").replace("staf.fit(photo) ", "staf.fit(photo, steps=2)")
    assert short != block
    exec(compile(short, page.name, "exec"), {})
    assert {"same.png", "larger.png", "photo.safetensors"} <= {path.name for path in tmp_path.iterdir()}


def test_the_notebook_is_stored_executed_and_still_runs() -> None:
    notebook = json.loads((DOCS / "tutorial.ipynb").read_text("utf-8"))
    stored = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in stored] == list(range(1, len(stored) + 1))
    again = [cell for cell in _script("run_notebook").execute(notebook)["cells"] if cell["cell_type"] == "code"]
    for before, after in zip(stored, again, strict=True):
        kinds = [[sorted(output.get("data", {"text": 0})) for output in cell["outputs"]] for cell in (before, after)]
        assert kinds[0] == kinds[1], "".join(before["source"])
        (words, numbers), (words_now, numbers_now) = _told(before), _told(after)
        assert words == words_now, "".join(before["source"])
        assert numbers_now == pytest.approx(numbers, rel=0.05, abs=0.05), "".join(before["source"])


def test_the_notebook_on_weights_is_stored_executed_and_still_runs() -> None:
    """With fewer digits and steps than the stored outputs, which take a minute."""
    pytest.importorskip("sklearn")
    notebook = json.loads((DOCS / "classify_weights.ipynb").read_text("utf-8"))
    stored = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in stored] == list(range(1, len(stored) + 1))
    assert "1200 networks, 0 failures" in _told(stored[0])[0]
    assert min(_told(stored[-1])[1]) > 0.9
    text = json.dumps(notebook).replace("count = 1200", "count = 40").replace("steps=100", "steps=2")
    again = _script("run_notebook").execute(json.loads(text.replace("epochs=20", "epochs=1")))
    kinds = [[output["output_type"] for output in cell.get("outputs", [])] for cell in again["cells"]]
    assert kinds == [[output["output_type"] for output in cell.get("outputs", [])] for cell in notebook["cells"]]


def test_pictures_are_small() -> None:
    overview = DOCS / "img" / "overview.jpg"
    assert 10_000 < overview.stat().st_size < 300_000


def _told(cell: dict) -> tuple[str, list[float]]:
    """What the outputs of a cell say: the words, and the numbers but for seconds, which differ between machines."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    text = re.sub(r" in [\d.]+s", "", "\n".join("".join(text) for text in texts))
    number = r"\d+\.\d+"
    return re.sub(number, "#", text), [float(found) for found in re.findall(number, text)]


def blocks(markdown: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", markdown, flags=re.S | re.M)


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_formulas_are_typeset_without_a_script(site: Path) -> None:
    page = (site / "theory" / "initialisation.html").read_text("utf-8")
    assert page.count("<math") > 10
    assert 'display="block"' in page
    assert "\\frac" not in re.sub(r"<annotation.*?</annotation>", "", page)
