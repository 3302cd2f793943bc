from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import staf
from staf.reports import configuration, report_html, write_run
from staf.reports.measures import measures
from tests.reports.conftest import HOSTILE, small_fit, small_image


class Reader(HTMLParser):
    """Collects every tag with its attributes, the text of scripts and styles, and the visible text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {}
        self.visible = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style"):
            self.raw[self._inside] = data
        else:
            self.visible += data


def read(fit: staf.Fit) -> Reader:
    reader = Reader()
    reader.feed(report_html(fit, measures(fit, None)))
    return reader


def test_hostile_strings_are_text_only(hostile_fit: staf.Fit) -> None:
    page = read(hostile_fit)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert page.visible.count(HOSTILE) >= 3, "name, source and note must be shown in full"


def test_nothing_is_fetched(hostile_fit: staf.Fit) -> None:
    page = read(hostile_fit)
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
    assert "url(" not in page.raw["style"]
    assert "@import" not in page.raw["style"]
    assert not re.search(r"fetch|XMLHttpRequest|import\(|WebSocket", page.raw["script"])


def test_the_policy_allows_exactly_this_style_and_script(fit: staf.Fit) -> None:
    page = read(fit)
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and "Policy" in (a.get("http-equiv") or ""))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for content in page.raw.values():
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not any("style" in attributes for _, attributes in page.tags), "inline styles would be refused"


def test_everything_worth_knowing_is_there(fit: staf.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(tmp_path / "none.safetensors"))
    page = read(fit)
    for words in (
        f"{fit.metrics['psnr']:.2f}",
        f"{fit.metrics['ssim']:.4f}",
        "LPIPS: not measured",
        "Layer 2",
        "the network was given, not chosen",
        "every step sees all 2,240 points",
        "amplitude_rate",
        "torch",
        "cpu (",
        "staf.Recipe.from_plain(",
    ):
        assert words in page.visible, words


def test_a_chosen_plan_gives_all_its_reasons_and_a_given_recipe_none() -> None:
    image = small_image(8, 8)
    plan = staf.plan(image, staf.Budget(steps=1))
    small = staf.Plan(lambda generator: staf.siren(2, 3, width=8, generator=generator), plan.recipe, plan.reasons)
    chosen = staf.fit(image, plan=small, progress=False, device="cpu")
    assert configuration.reasons(chosen) == list(plan.reasons.values())
    given = staf.fit(image, plan=small, recipe=staf.recipes.paper_image(epochs=1), progress=False, device="cpu")
    assert configuration.reasons(given) == ["the recipe was given, not chosen"]


def test_activations_show_where_they_began(fit: staf.Fit) -> None:
    html = report_html(fit, {})
    assert html.count('class="line before"') == 2 + 1, "one curve a layer, and the key"
    assert html.count('class="line after"') >= 2
    assert " → " in html, "the table of sinusoids shows both ends"


def test_a_network_with_fixed_activations_says_so() -> None:
    image = small_image(16, 16)
    fit = staf.fit(image, field=staf.siren(2, 3, width=8, depth=2), steps=1, progress=False, device="cpu")
    html = report_html(fit, {})
    assert "fixed, not trained" in html
    assert 'class="line before"' not in html


def test_networks_without_drawn_activations_still_report() -> None:
    fit = staf.fit(small_image(16, 16), field=staf.wire(2, 3, width=8), steps=1, progress=False, device="cpu")
    assert "<h2>Activations</h2>" not in report_html(fit, {})


def test_a_timed_fit_says_that_the_clock_decided() -> None:
    image = small_image(16, 16)
    fit = staf.fit(image, field=staf.siren(2, 3, width=8, depth=2), seconds=0.2, progress=False, device="cpu")
    assert "followed the clock" in report_html(fit, {})


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 2), (1, 2000)])
def test_odd_shapes_have_reports(shape: tuple[int, int], tmp_path: Path) -> None:
    image = staf.Image(np.full((*shape, 1), 99, np.uint8))
    fit = staf.fit(image, field=staf.siren(2, 1, width=8, depth=1), steps=2, progress=False, device="cpu")
    assert write_run(fit, tmp_path).report.stat().st_size > 10_000


def test_a_report_stays_small_even_for_noise(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (700, 1100, 3), np.uint8)
    fit = small_fit(staf.Image(noise), steps=1)
    assert write_run(fit, tmp_path).report.stat().st_size < 5_000_000


def test_a_report_does_not_say_where_files_lie(fit: staf.Fit, tmp_path: Path) -> None:
    picture = small_image(9, 9).save(tmp_path / "photo.png")
    shown = staf.fit(staf.open(picture), field=staf.siren(2, 3, width=8, depth=1), steps=1, progress=False)
    page = report_html(shown, measures(shown, None))
    assert ", from <bdi>photo.png</bdi>, fitted by siren<" in page
    assert str(tmp_path) not in page
    assert "/.cache/" not in page
    assert "the mean colour alone has" in page
