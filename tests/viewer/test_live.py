"""A fit is seen while it trains, and can be stopped from the page."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import staf
from staf.kinds import Image
from staf.viewer.live import LiveView
from tests.viewer.conftest import Page
from tests.viewer.test_server import ask


def picture() -> Image:
    rows, columns = np.meshgrid(np.linspace(0, 1, 24), np.linspace(0, 1, 32), indexing="ij")
    return Image((np.stack([rows, columns, rows * columns], -1) * 255).astype(np.uint8), name="ramp")


def fit_behind(live: LiveView, **how: object) -> tuple[threading.Thread, list[staf.Fit]]:
    fits: list[staf.Fit] = []
    field = staf.siren(2, 3, width=16, depth=2)

    def train() -> None:
        fits.append(staf.fit(picture(), field, progress=False, callbacks=live, **how))

    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    return thread, fits


def test_progress_is_told_and_the_last_field_is_the_fit():
    with LiveView(picture(), browse=False, interval=0.0) as live:
        thread, fits = fit_behind(live, steps=30)
        thread.join(300)
        live.done(fits[0].field)
        version, told = live.wait(-1)
        assert version >= 2
        assert (told["live"], told["running"], told["step"], told["steps"]) == (True, False, 30, 30)
        assert len(told["curve"]) == 30
        assert told["metrics"]["psnr"] == fits[0].metrics["psnr"]
        data = ask(live.server, f"/{live.server.secret}/0/field")[1]
        length = int.from_bytes(data[:4], "little")
        entry = json.loads(data[4 : 4 + length])["steps"][0]["arrays"]["weight"]
        weight = np.frombuffer(data, np.float32, 32, 4 + length + entry["at"]).reshape(16, 2)
        assert np.array_equal(weight, fits[0].module.layers[0].weight.detach().numpy())
        original = ask(live.server, f"/{live.server.secret}/0/original")[1]
        assert original.endswith(picture().array.tobytes())


def test_a_page_that_is_opened_before_the_first_step_asks_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("staf.viewer.live.WAITING_SECONDS", 0.01)
    with LiveView(picture(), browse=False) as live:
        assert b'http-equiv="refresh"' in ask(live.server, f"/{live.server.secret}/0/")[1]


def test_pictures_are_not_taken_when_nobody_looks():
    with LiveView(picture(), browse=False, interval=0.0) as live:
        thread, _ = fit_behind(live, steps=50)
        thread.join(300)
        assert live.wait(-1)[0] == 2


def test_the_page_shows_the_fit_and_stops_it(page: Page):
    with LiveView(picture(), browse=False, interval=0.05) as live:
        thread, fits = fit_behind(live, steps=1_000_000)
        page.go(live.address)
        page.browser.until("staf.live.numbers && staf.live.numbers.textContent.includes('of 1000000')")
        first = page.browser.evaluate("staf.live.version")
        page.browser.until(f"staf.live.version > {first} + 1")
        find = "[...document.querySelectorAll('button')].find((b) => b.textContent === {!r})"
        page.browser.until(f"Boolean({find.format('Error ×8')})")
        page.browser.evaluate(find.format("Stop and keep") + ".click()")
        thread.join(300)
        assert fits[0].stopped == "stopped in the viewer; the weights are kept"
        live.done(fits[0].field)
        page.browser.until("staf.live.numbers.textContent.startsWith('finished after')")
        page.browser.until("!staf.live.asking")
        page.resize_canvas(32, 24)
        page.browser.evaluate("staf.view.plane.showRegion(0, 0, 32, 24)")
        shown = page.pixels().astype(int)
        assert np.abs(shown - fits[0].reconstruction.array).max() <= 1
        page.browser.evaluate(find.format("Original") + ".click()")
        assert np.array_equal(page.pixels(), picture().array)
        page.browser.evaluate(find.format("Error ×8") + ".click()")
        error = np.minimum(255, 8 * np.abs(shown - picture().array))
        assert np.abs(page.pixels() - error).max() <= 8
        assert page.browser.complaints == []
        page.browser.until("staf.live.events.readyState === EventSource.OPEN")
    page.browser.until("document.getElementById('status').textContent.startsWith('The server has ended')")
