"""The pages of recordings, shapes and grids show what the library renders."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import soundfile
import torch

import staf
from staf.api import FittedField
from staf.kinds import PointCloud, Shape
from tests.export.fields import audio_field
from tests.export.networks import make
from tests.viewer.conftest import TO_BASE64, Page


def click(page: Page, label: str) -> None:
    find = "(label) => [...document.querySelectorAll('button')].find((b) => b.textContent === label).click()"
    page.browser.apply(find, label)


def test_a_recording_at_its_own_rate_and_at_another(page: Page):
    field = audio_field(samples=3000, channels=2, width=12, depth=2)
    page.open(field)
    own = np.array(page.browser.evaluate("staf.view.samples.map((values) => [...values])")).T
    assert np.abs(own - field.render().array).max() < 1e-5
    other = np.array(page.browser.apply("async () => (await staf.view.rendered(22050)).map((values) => [...values])")).T
    assert other.shape == field.render(rate=22050).array.shape
    assert np.abs(other - field.render(rate=22050).array).max() < 1e-5
    assert page.browser.complaints == []


def test_a_saved_recording_is_a_wav_file(page: Page):
    field = audio_field(samples=500, width=12, depth=2)
    page.open(field)
    page.browser.evaluate("URL.createObjectURL = (blob) => { window.saved = blob; return 'blob:'; }; 0")
    page.browser.evaluate("staf.view.chosen.value = 16000")
    click(page, "Save WAV")
    page.browser.until("Boolean(window.saved)")
    data = page.browser.apply(f"async () => ({TO_BASE64})(new Uint8Array(await saved.arrayBuffer()))")
    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(data)))
    assert rate == 16000
    assert np.abs(samples[:, None] - field.render(rate=16000).array).max() < 1e-4


def test_waveform_zoom_shows_the_network_between_samples(page: Page):
    field = audio_field(samples=4000, width=12, depth=2)
    page.open(field)
    page.browser.evaluate("staf.view.showRange(100, 104)")
    page.browser.until("staf.view.close")
    start, step = page.browser.evaluate("[staf.view.close.from, staf.view.close.step]")
    values = np.array(page.browser.evaluate("[...staf.view.close.parts[0]]"))
    places = start + step * np.arange(len(values))
    expected = field(torch.from_numpy(2 * places / 4000 - 1)[:, None]).detach().numpy()[:, 0].clip(-0.5, 0.5)
    assert page.browser.evaluate("staf.view.range[1] - staf.view.range[0]") == 8
    assert np.abs(values - expected).max() < 1e-5


def ball_field(radius: float = 0.8) -> FittedField:
    """A Gaussian of the distance to the origin, whose surface at 1/2 is the sphere of a radius."""
    field = staf.mfn(3, 1, width=1, depth=1, input_scale=1.0)
    with torch.no_grad():
        filter_ = field.filters[0]
        filter_.linear.weight.zero_()
        filter_.linear.bias.fill_(np.pi / 2)
        filter_.centre.zero_()
        filter_.sharpness.fill_(2 * np.log(2) / radius**2)
        field.output.weight.fill_(1.0)
        field.output.bias.zero_()
    return FittedField(field.eval(), {"signal": Shape.sphere(resolution=16).metadata()})


def test_a_shape_is_where_it_belongs_and_is_turned_and_cut(page: Page):
    page.open(ball_field(), width=500, height=360)
    vertices = np.array(page.browser.evaluate("[...staf.view.view.mesh.vertices]")).reshape(-1, 3)
    triangles = np.array(page.browser.evaluate("[...staf.view.view.mesh.triangles]")).reshape(-1, 3)
    radius = np.linalg.norm(vertices, axis=1)
    assert np.abs(radius - 0.8).max() < 0.01
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    _, count = np.unique(edges, axis=0, return_counts=True)
    assert (count == 2).all()
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert volume == pytest.approx(4 / 3 * np.pi * 0.8**3, rel=0.02)

    page.resize_canvas(64, 64)
    middle = page.pixels()
    assert not np.array_equal(middle[32, 32], middle[0, 0])
    before = page.browser.evaluate("staf.view.view.angles")
    page.browser.drag([(20, 20), (40, 26)])
    after = page.browser.evaluate("staf.view.view.angles")
    assert after[0] > before[0]
    assert after[1] > before[1]
    click(page, "Slices")
    page.browser.evaluate("staf.view.view.plane.fit()")
    cut = page.pixels().astype(int)
    inside = cut[..., 0] > cut[..., 2]
    y, x = np.indices((64, 64))
    radius = np.hypot(x + 0.5 - 32, y + 0.5 - 32) / 32
    assert inside[radius < 0.75].all()
    assert not inside[(radius > 0.85) & (radius < 0.98)].any()
    assert page.browser.complaints == []


def volume_of(page: Page) -> float:
    """What the page's mesh encloses, faces looking outwards, in units of the cube."""
    vertices = np.array(page.browser.evaluate("[...staf.view.view.mesh.vertices]")).reshape(-1, 3)
    triangles = np.array(page.browser.evaluate("[...staf.view.view.mesh.triangles]")).reshape(-1, 3)
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def test_signed_distances_are_negative_inside(page: Page):
    field = ball_field()
    with torch.no_grad():
        field.module.output.weight.fill_(-1.0)
        field.module.output.bias.fill_(0.5)
    cloud = PointCloud.sampled(Shape.sphere(), 100, resolution=64)
    page.open(FittedField(field.module, {"signal": cloud.metadata()}), width=500, height=360)
    assert page.browser.evaluate("document.querySelector('header p').textContent").startswith(
        "Surface through 100 points"
    )
    assert volume_of(page) == pytest.approx(4 / 3 * np.pi * 0.8**3, rel=0.02)
    page.resize_canvas(64, 64)
    click(page, "Slices")
    page.browser.evaluate("staf.view.view.plane.fit()")
    cut = page.pixels().astype(int)
    y, x = np.indices((64, 64))
    radius = np.hypot(x + 0.5 - 32, y + 0.5 - 32) / 32
    inside = cut[..., 0] > cut[..., 2]
    assert inside[radius < 0.75].all()
    assert not inside[(radius > 0.85) & (radius < 0.98)].any()
    assert page.browser.complaints == []


def test_slices_and_slabs_of_three_coordinates(page: Page):
    field = FittedField(make("siren", 3, 1, width=12, depth=2), {})
    page.open(field)
    page.resize_canvas(32, 32)
    page.browser.evaluate("staf.view.plane.fit()")
    low, high = page.browser.evaluate("staf.field.about.meaning.value_range")
    at = (2 * np.arange(32) + 1) / 32 - 1
    rows, columns = np.meshgrid(at, at, indexing="ij")

    def expected(depths: np.ndarray, axis: int) -> np.ndarray:
        cuts = []
        for depth in depths:
            points = np.insert(np.stack([rows, columns], -1).reshape(-1, 2), axis, depth, axis=1)
            values = field(torch.from_numpy(points)).detach().numpy().reshape(32, 32)
            cuts.append(((values - low) / (high - low)).clip(0, 1))
        return np.mean(cuts, axis=0) * 255

    assert np.abs(page.pixels()[..., 0] - expected(np.zeros(1), 0)).max() <= 1.01
    click(page, "axis 2")
    assert np.abs(page.pixels()[..., 0] - expected(np.zeros(1), 1)).max() <= 1.01
    page.browser.evaluate("staf.view.step(128)")
    assert np.abs(page.pixels()[..., 0] - expected(np.array([0.5]), 1)).max() <= 1.01
    page.browser.apply(
        """() => {
          const inputs = document.querySelectorAll('#controls .sliders input');
          inputs[1].value = 64;
          inputs[1].dispatchEvent(new Event('input'));
        }"""
    )
    thickness = page.browser.evaluate("staf.view.slab.thickness") * 2 / 512
    depths = 0.5 + ((np.arange(16) + 0.5) / 16 - 0.5) * thickness
    assert np.abs(page.pixels()[..., 0] - expected(depths, 1)).max() <= 1.01


def test_four_coordinates_have_two_sliders(page: Page):
    page.open(FittedField(make("siren", 4, 2, width=8, depth=2), {}))
    assert page.browser.evaluate("document.querySelectorAll('#controls .sliders input').length") == 3
    pressed = "[...document.querySelectorAll('#controls [aria-pressed=true]')].map((b) => b.textContent)"
    assert page.browser.evaluate(pressed) == ["axis 1", "1", "Mean"]
    assert page.browser.complaints == []
