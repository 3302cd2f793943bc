"""The report as a browser sees it, on a phone and on a projector."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

import staf
from staf.reports import write_run
from tests.reports.browser import Browser, executable
from tests.reports.conftest import HOSTILE, small_fit, small_image

pytestmark = pytest.mark.skipif(executable() is None, reason="Chromium is not installed: apt-get install chromium")

ROW, COLUMN = (f"Number(document.body.dataset.lens.split(',')[{index}])" for index in (0, 1))
SCREENS = {"phone": (390, 844), "desktop": (1440, 900)}


@pytest.fixture(scope="module")
def report(hostile_fit: staf.Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(hostile_fit, tmp_path_factory.mktemp("run") / "with <b>markup</b> & spaces").report


@pytest.fixture(scope="module")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(small_fit(small_image(300, 520, name="large"), steps=1), tmp_path_factory.mktemp("large")).report


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(autouse=True)
def silence(browser: Browser) -> Iterator[None]:
    """Whatever a test does, the page logs nothing, opens no dialog, and asks for nothing but itself."""
    browser.requests.clear()
    browser.complaints.clear()
    yield
    browser.evaluate("0")
    assert browser.complaints == []
    assert {url.split(":", 1)[0] for url in browser.requests} <= {"file", "data"}


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_fits_the_screen_and_its_pictures_are_drawn(browser: Browser, report: Path, screen: str) -> None:
    width, height = SCREENS[screen]
    browser.open(report, width=width, height=height, phone=screen == "phone")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    sizes = browser.evaluate("[...document.images].map(image => [image.naturalWidth, image.naturalHeight])")
    assert sizes == [[56, 40]] * 3
    smallest = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height))"
    )
    assert smallest >= 9, "text in charts must stay readable"


def test_hostile_names_are_shown_and_not_run(browser: Browser, report: Path) -> None:
    browser.open(report, width=1000, height=800)
    assert browser.evaluate("document.querySelector('h1').textContent") == HOSTILE
    assert browser.evaluate("document.scripts.length") == 1
    assert browser.evaluate("document.images.length") == 3


def test_scripts_that_are_not_the_reports_own_are_refused(browser: Browser, report: Path) -> None:
    browser.open(report, width=1000, height=800)
    browser.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = true';"
        " document.body.append(s); })()"
    )
    assert browser.evaluate("window.ran") is None
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)
    browser.complaints.clear()


def test_dragging_with_a_mouse_moves_all_three_frames(browser: Browser, report: Path) -> None:
    browser.open(report, width=1440, height=900)
    before = _lenses(browser)
    left, top, width, height = _box(browser, 1)
    browser.drag([(left + width * 0.5, top + height * 0.5), (left + width * 0.9, top + height * 0.9)])
    row, column, _ = _place(browser)
    assert row > 22
    assert column > 30
    frames = browser.evaluate("[...document.querySelectorAll('.frame')].map(f => f.style.left + ' ' + f.style.top)")
    assert len(set(frames)) == 1
    after = _lenses(browser)
    assert all(a != b for a, b in zip(before, after, strict=True)), "every magnified picture must follow"


def test_a_finger_drags_the_frame_and_taps_move_it(browser: Browser, report: Path) -> None:
    browser.open(report, width=390, height=844, phone=True)
    browser.evaluate("document.querySelector('.holder').scrollIntoView()")
    left, top, width, height = _box(browser, 0)
    browser.swipe([(left + width / 2, top + height / 2), (left + 6, top + height / 2), (left + 3, top + 5)])
    browser.until(f"({ROW}) < 20 && ({COLUMN}) < 28")
    # A tap that a busy machine draws out is a long press, which is no click: tap again, as a person would.
    moved = f"({ROW}) > 20 && ({COLUMN}) > 28"
    for _ in range(20):
        browser.swipe([(left + width * 0.9, top + height * 0.9)])
        time.sleep(0.3)
        if browser.evaluate(moved):
            break
    assert browser.evaluate(moved)


def test_a_finger_beside_the_frame_scrolls_the_page(browser: Browser, report: Path) -> None:
    browser.open(report, width=390, height=844, phone=True)
    browser.evaluate("document.querySelector('.holder').scrollIntoView()")
    before, place = browser.evaluate("scrollY"), _place(browser)
    left, top, width, height = _box(browser, 0)
    x, y = left + width * 0.05, top + height * 0.9
    browser.swipe([(x, y - 20 * i) for i in range(10)])
    browser.until(f"scrollY > {before}")
    assert _place(browser) == place


def test_the_keyboard_moves_and_magnifies(browser: Browser, report: Path) -> None:
    browser.open(report, width=1440, height=900)
    browser.evaluate("document.querySelector('.holder').focus()")
    row, column, zoom = _place(browser)
    for key in ("-", "-", "+", "ArrowRight", "ArrowRight", "ArrowDown"):
        browser.press(key)
    assert _place(browser) == (row + 1, column + 2, zoom - 1)
    assert "target" in browser.evaluate("document.querySelector('.readout').textContent")


def test_large_images_offer_crops_at_full_resolution(browser: Browser, large_report: Path) -> None:
    browser.open(large_report, width=1440, height=900)
    assert browser.evaluate("document.querySelector('.holder img:not([hidden])').naturalWidth") == 260
    browser.evaluate("document.querySelectorAll('.choice input')[1].click()")
    assert browser.evaluate("document.querySelector('.holder img:not([hidden])').naturalWidth") == 256
    shown = browser.evaluate("[...document.querySelectorAll('[data-detail]')].filter(e => !e.hidden)[0].textContent")
    assert "every pixel shown" in shown


def test_dark_screens_get_dark_paper(browser: Browser, report: Path, tmp_path: Path) -> None:
    corners = []
    for dark in (False, True):
        browser.open(report, width=800, height=600, dark=dark)
        browser.screenshot(tmp_path / "screen.png")
        corners.append(np.asarray(Pillow.open(tmp_path / "screen.png").convert("L"))[2, 2])
    assert corners[0] > 240
    assert corners[1] < 40


def _box(browser: Browser, index: int) -> tuple[float, float, float, float]:
    left, top, width, height = browser.evaluate(
        f"(() => {{ const b = document.querySelectorAll('.holder')[{index}].getBoundingClientRect();"
        " return [b.left, b.top, b.width, b.height]; })()"
    )
    return left, top, width, height


def _place(browser: Browser) -> tuple[int, int, int]:
    row, column, zoom = (int(part) for part in browser.evaluate("document.body.dataset.lens").split(","))
    return row, column, zoom


def _lenses(browser: Browser) -> list[str]:
    return browser.evaluate("[...document.querySelectorAll('.lens canvas')].map(canvas => canvas.toDataURL())")


def test_a_picture_of_two_rows_leaves_no_empty_lens(browser: Browser, tmp_path: Path) -> None:
    report = write_run(small_fit(small_image(2, 400, name="wide"), steps=1), tmp_path / "wide").report
    browser.open(report, width=1440, height=900, phone=False)
    lens = "document.querySelector('.lens canvas').getBoundingClientRect()"
    zoom = "Number(document.body.dataset.lens.split(',')[2])"
    assert browser.evaluate(f"{lens}.height") == pytest.approx(2 * browser.evaluate(zoom), abs=1.5)
    assert browser.evaluate(f"{lens}.width") > 200
