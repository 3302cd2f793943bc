"""The page of an image shows what torch computes, at any zoom, and does what its controls say."""

from __future__ import annotations

import base64
import io

import numpy as np
import PIL.Image
import pytest
import torch

from staf.api import FittedField
from staf.viewer.page import export_html
from tests.export.fields import image_field
from tests.viewer.conftest import TO_BASE64, Page


def bright(field: FittedField) -> FittedField:
    """The same field with values all over [0, 1]."""
    with torch.no_grad():
        field.module.output.weight.mul_(2)
        field.module.output.bias.add_(0.5)
    return field


def show(page: Page, left: float, top: float, right: float, bottom: float) -> None:
    page.browser.apply("(...box) => staf.view.plane.showRegion(...box)", left, top, right, bottom)


def worst(a: np.ndarray, b: np.ndarray) -> int:
    return int(np.abs(a.astype(int) - b.astype(int)).max())


def test_one_to_one_of_a_wide_network(page: Page):
    """To 1/255 over the whole picture: 256 wide, four layers, 80 x 60 pixels."""
    field = bright(image_field(shape=(60, 80, 3), width=256, depth=4))
    page.open(field, width=120, height=90)
    page.resize_canvas(80, 60)
    # A timer runs while the picture is drawn: the work is cut into slices.
    waiting = "new Promise((done) => setTimeout(() => done(staf.runner.jobs.size), 1))"
    assert page.browser.promise(f"(staf.view.plane.showRegion(0, 0, 80, 60), {waiting})") == 1
    assert worst(page.pixels(), field.render().array) <= 1
    assert page.browser.complaints == []


# Counts what is computed and compiled until a page first asks for its screen to be drawn with something on it.
COUNT_WORK = """(() => {
  const work = window.work = {points: 0, programs: 0, first: null};
  const {linkProgram} = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.linkProgram = function (program) {
    work.programs += 1;
    linkProgram.call(this, program);
  };
  let app;
  Object.defineProperty(window, 'staf', {get: () => app, set: (made) => {
    app = made;
    const {engine} = made, {run} = engine, show = made.show.bind(made);
    engine.run = function* (block, first, count) {
      work.points += count;
      yield* run.call(engine, block, first, count);
    };
    made.show = () => {
      if (work.points) work.first ||= {points: work.points, programs: work.programs};
      show();
    };
  }});
})()"""


def test_the_first_picture_takes_few_evaluations_and_programs(page: Page):
    """Half a million pixels are seen after at most two tiles of 2,048 points; layers of one kind share a program."""
    field = bright(image_field(shape=(700, 900, 3), width=8, depth=4))
    number = page.browser.call("Page.addScriptToEvaluateOnNewDocument", source=COUNT_WORK)["identifier"]
    screen = {"width": 1300, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.browser.call("Emulation.setDeviceMetricsOverride", **screen)
    page.browser.call("Page.navigate", url=export_html(field, page.path).as_uri())
    page.browser.until("Boolean(window.work && work.first)")
    page.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=number)
    width, height = page.browser.evaluate("[staf.canvas.width, staf.canvas.height]")
    assert width * height > 500_000
    first = page.browser.evaluate("work.first")
    assert 0 < first["points"] <= 4096
    # The first layer, the hidden ones, the output, and two that paint.
    assert first["programs"] == 5


def test_what_is_saved_is_what_is_shown(page: Page):
    page.open(bright(image_field(shape=(20, 30, 3), width=8, depth=2)))
    page.resize_canvas(30, 20)
    show(page, 0, 0, 30, 20)
    shown = page.pixels()
    page.browser.evaluate("URL.createObjectURL = (blob) => { window.saved = blob; return 'blob:'; }; 0")
    page.browser.apply("() => [...document.querySelectorAll('button')].find((b) => b.title.startsWith('What')).click()")
    page.browser.until("Boolean(window.saved)")
    data = page.browser.apply(f"async () => ({TO_BASE64})(new Uint8Array(await saved.arrayBuffer()))")
    assert np.array_equal(np.array(PIL.Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")), shown)


BOXES = ((0, 0, 56, 40), (10.25, 3.5, 24.25, 13.5), (30.001, 20.002, 30.141, 20.102))


@pytest.mark.parametrize("convention", ["centres", "ends"])
def test_odd_zooms_show_what_render_makes(convention: str, page: Page):
    field = bright(image_field(convention=convention, width=20, depth=3))
    page.open(field)
    page.resize_canvas(70, 50)
    for box in BOXES:
        show(page, *box)
        left, top, right, bottom = box
        if convention == "centres":
            assert worst(page.pixels(), field.render(crop=box, size=(70, 50)).array) <= 1
            continue
        # `render` spreads the samples of this convention from the first pixel's centre to the last's.
        rows = top + (np.arange(50) + 0.5) / 50 * (bottom - top) - 0.5
        columns = left + (np.arange(70) + 0.5) / 70 * (right - left) - 0.5
        grid = np.stack(np.meshgrid(2 * rows / 39 - 1, 2 * columns / 55 - 1, indexing="ij"), -1).reshape(-1, 2)
        expected = field(torch.from_numpy(grid)).detach().numpy().clip(0, 1).reshape(50, 70, 3)
        assert worst(page.pixels(), (expected * 255).round()) <= 1


def test_far_zooms_are_smooth(page: Page):
    """A millionth of a pixel: float32 coordinates alone would show steps."""
    field = bright(image_field(width=16, depth=2))
    page.open(field)
    page.resize_canvas(64, 64)
    page.browser.apply("() => staf.view.plane.moveTo(31.3, 17.7, 1e6)")
    x = page.browser.evaluate("staf.view.plane.coordinatesOf(31.3, 17.7)")
    expected = field(torch.tensor([x], dtype=torch.float64)).detach().numpy().clip(0, 1) * 255
    shown = page.pixels().reshape(-1, 3)
    assert np.abs(shown - expected).max() <= 1
    assert len(np.unique(shown, axis=0)) <= 2


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_grey_and_alpha(channels: int, page: Page):
    field = bright(image_field(shape=(16, 16, channels), width=8, depth=2))
    page.open(field)
    page.resize_canvas(16, 16)
    show(page, 0, 0, 16, 16)
    values = field.render().array / 255.0
    if channels == 1:
        expected = np.repeat(values, 3, axis=2)
    else:
        rows, columns = np.indices((16, 16)) // 8
        squares = np.where((rows + columns) % 2 == 0, 0.75, 0.6)[..., None]
        colour = np.repeat(values[..., :1], 3, axis=2) if channels == 2 else values[..., :3]
        expected = squares + (colour - squares) * values[..., -1:]
    assert worst(page.pixels(), (expected * 255).round()) <= 2


def test_gradient_and_laplacian(page: Page):
    field = bright(image_field(shape=(32, 32, 3), width=16, depth=2))
    page.open(field)
    page.resize_canvas(32, 32)
    show(page, 0, 0, 32, 32)
    points = field.signal.coordinates()
    for mode, label in ((2, "Gradient"), (3, "Laplacian")):
        page.browser.apply(
            "(label) => [...document.querySelectorAll('button')].find((b) => b.textContent === label).click()", label
        )
        shown = page.pixels() / 255.0
        factor = page.browser.evaluate(f"staf.view.factors[{mode}]")
        if mode == 2:
            size = field.gradient(points).detach().pow(2).sum(-1).mean(-1).sqrt().numpy()
            expected = np.repeat((size * factor).clip(0, 1).reshape(32, 32, 1), 3, axis=2)
        else:
            bend = (field.laplacian(points).detach().mean(-1).numpy() * factor).clip(-1, 1).reshape(32, 32, 1)
            end = np.where(bend < 0, [0.13, 0.4, 0.75], [0.8, 0.3, 0.05])
            expected = 1 + (end - 1) * np.abs(bend)
        assert np.abs(shown - expected).max() < 2.5 / 255
        assert (expected.max() - expected.min()) > 0.001


def test_compare_shows_the_original_size_enlarged_bilinearly(page: Page):
    field = bright(image_field(shape=(20, 30, 3), width=16, depth=2))
    page.open(field)
    page.resize_canvas(120, 80)
    show(page, 0, 0, 30, 20)
    page.browser.press("c")
    page.browser.apply("() => document.querySelector('[title*=bilinearly]').click()")
    shown = page.pixels()
    small = torch.from_numpy(field.render().array.astype(np.float32)).permute(2, 0, 1)[None]
    large = torch.nn.functional.interpolate(small, size=(80, 120), mode="bilinear", align_corners=False)[0]
    expected = large.permute(1, 2, 0).numpy()
    assert np.abs(shown[:, 62:] - expected[:, 62:]).max() <= 1.5
    exact = field.render(scale=4).array
    assert worst(shown[:, :58], exact[:, :58]) <= 1
    assert worst(shown[:, 62:], exact[:, 62:]) > 4


def test_sliders_change_the_picture_and_reset_puts_it_back(page: Page):
    field = bright(image_field(shape=(24, 24, 3), width=12, depth=2))
    page.open(field)
    page.resize_canvas(24, 24)
    show(page, 0, 0, 24, 24)
    before = page.pixels()
    move = """(at, to) => {
      const input = document.querySelectorAll('.sliders input')[at];
      input.value = to;
      input.dispatchEvent(new Event('input'));
    }"""
    page.browser.apply(move, 0, 0.25)
    page.browser.apply(move, 1, 60)
    page.browser.apply(move, 2, 0.5)
    with torch.no_grad():
        series = field.module.activation(0)
        got = page.browser.evaluate(
            "['amplitude', 'frequency', 'phase'].map((name) => staf.field.steps[1].arrays[name].values[0])"
        )
        for part, value in zip(series.sinusoids, got, strict=True):
            part[0] = value
    assert got == pytest.approx([0.25, 60, 0.5], abs=0.1)
    after = page.pixels()
    assert worst(after, before) > 10
    assert worst(after, field.render().array) <= 1
    page.browser.apply("() => [...document.querySelectorAll('button')].find((b) => b.textContent === 'Reset').click()")
    assert worst(page.pixels(), before) == 0


def test_mouse_touch_and_keys(page: Page):
    field = bright(image_field(width=8, depth=2))
    page.open(field, width=700, height=500)
    view = "[staf.view.plane.centre[0], staf.view.plane.centre[1], staf.view.plane.zoom]"
    start = page.browser.evaluate(view)
    page.browser.drag([(200, 200), (230, 210), (260, 220)])
    dragged = page.browser.evaluate(view)
    assert dragged == pytest.approx([start[0] - 60 / start[2], start[1] - 20 / start[2], start[2]])
    place = "staf.view.plane.placeOf(150 * staf.view.plane.ratio, 100 * staf.view.plane.ratio)"
    before = page.browser.evaluate(place)
    top = page.browser.evaluate("staf.canvas.getBoundingClientRect().top")
    page.browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=150, y=100 + top, deltaX=0, deltaY=-100)
    page.browser.until(f"staf.view.plane.zoom > {dragged[2]}")
    assert page.browser.evaluate(place) == pytest.approx(before, abs=0.05)
    page.browser.evaluate("staf.canvas.focus()")
    for key, check in (("ArrowRight", "centre[0] >"), ("ArrowDown", "centre[1] >"), ("+", "zoom >")):
        old = page.browser.evaluate(f"staf.view.plane.{check.split(' ')[0]}")
        page.browser.press(key)
        assert page.browser.evaluate(f"staf.view.plane.{check} {old}")
    page.browser.press("0")
    assert page.browser.evaluate(view) == pytest.approx(start)


def test_a_phone_with_a_long_name_and_two_fingers_that_zoom(page: Page):
    field = bright(image_field(width=8, depth=2))
    field.metadata["signal"]["name"] = "a long name " * 20 + "x" * 200
    page.open(field, width=390, height=700, phone=True)
    assert page.browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.browser.evaluate("document.querySelector('header').offsetHeight") < 200
    before = page.browser.evaluate("staf.view.plane.zoom")
    top = page.browser.evaluate("staf.canvas.getBoundingClientRect().top")
    for kind, far in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80)):
        fingers = [{"x": 200 - far, "y": top + 150, "id": 0}, {"x": 200 + far, "y": top + 150, "id": 1}]
        page.browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)
    page.browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.browser.until(f"staf.view.plane.zoom > 1.9 * {before}")
    assert page.browser.evaluate(f"staf.view.plane.zoom < 2.1 * {before}")
    assert page.browser.complaints == []


def test_without_webgl2_a_sentence_is_shown(page: Page):
    without = "HTMLCanvasElement.prototype.getContext = () => null"
    number = page.browser.call("Page.addScriptToEvaluateOnNewDocument", source=without)["identifier"]
    page.browser.call("Page.navigate", url=export_html(image_field(width=8, depth=2), page.path).as_uri())
    page.browser.until("document.body && document.body.dataset.ready === 'failed'")
    page.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=number)
    message = page.browser.evaluate("document.getElementById('message').textContent")
    assert message.startswith("This page needs WebGL2, which this browser does not offer or has switched off.")
    assert page.browser.evaluate("!document.getElementById('message').hidden")
