"""Where there is WebGPU, it computes the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from staf.api import FittedField
from staf.export import graph as g
from staf.export.evaluate import evaluate
from tests.export.fields import image_field
from tests.export.networks import make
from tests.reports.browser import executable
from tests.viewer.conftest import Page
from tests.viewer.gpu_browser import GpuBrowser
from tests.viewer.test_picture import bright, show, worst
from tests.viewer.test_values import SECOND, block, points

READY = "Boolean(staf.engine.fast)"


def wait_for_webgpu(page: Page) -> None:
    page.browser.until(f"{READY} || document.getElementById('computed').title")
    assert page.browser.evaluate("document.getElementById('computed').title") == ""


@pytest.fixture(scope="module")
def gpu() -> Iterator[GpuBrowser]:
    if executable() is None:
        pytest.skip("no Chromium")
    with GpuBrowser(webgpu=True) as browser:
        yield browser


@pytest.fixture
def gpu_page(gpu: GpuBrowser, tmp_path: Path) -> Page:
    return Page(gpu, tmp_path / "field.html")


def every_step() -> g.Graph:
    """A graph with every kind of step of a field of two coordinates; one network compiles quicker than ten."""
    rng = np.random.default_rng(0)

    def dense(source: int, rows: int) -> int:
        width = graph.widths[source]
        weight, bias = rng.uniform(-1, 1, (rows, width)) * np.sqrt(3 / width), rng.uniform(-1, 1, rows)
        return graph.add(g.Dense(source, weight, bias))

    graph = g.Graph(2)
    levels = (g.GridLevel((3, 3), 0, 16, True), *(g.GridLevel((9, 7), 16 + 32 * k, 32, False) for k in range(8)))
    cells = graph.add(g.HashGrid(rng.normal(size=(16 + 32 * 8, 2)), levels, True))
    window = graph.add(g.Window(rng.uniform(-1, 1, (18, 2)), rng.uniform(0.5, 2, 18)))
    sinusoids = (rng.uniform(0.2, 1, (18, 3)), rng.uniform(0, 4, (18, 3)), rng.uniform(-3, 3, (18, 3)))
    wave = graph.add(g.SineSeries(dense(g.COORDINATES, 18), *sinusoids, 0.1))
    joined = graph.add(g.Sum(graph.add(g.Product(wave, window)), cells))
    complex_ = graph.add(g.Gabor(joined, 0.7, 0.4, wave))
    bent = graph.add(g.Sum(graph.add(g.Finer(complex_, 0.8)), graph.add(g.Gauss(complex_, 0.9))))
    polynomials = graph.add(g.Chebyshev(bent, 3))
    dense(graph.add(g.Relu(dense(polynomials, 18))), 3)
    return graph


def test_every_step_has_the_values_of_its_formula(gpu_page: Page, monkeypatch: pytest.MonkeyPatch):
    graph, total = every_step(), 143
    assert {type(step) for step in graph.steps} == set(get_args(g.Step)) - {g.Radiance}
    # The package has a function of the module's name.
    monkeypatch.setattr(sys.modules["staf.viewer.page"], "describe", lambda module: graph)
    gpu_page.open(FittedField(make("siren", width=4, depth=1), {}))
    wait_for_webgpu(gpu_page)
    x = points(block(2, 13), total).numpy()
    expected = evaluate(graph, x)
    assert np.abs(gpu_page.read(block(2, 13), total).T - expected).max() < 2e-5
    described = block(2, 13, lanes=SECOND, directions=[[0.5, 0.0], [0.0, 0.25], [0.0, 0.0]])
    fast = gpu_page.read(described, total).reshape(3, total, 4)
    for axis, scale in enumerate((0.5, 0.25)):
        along = scale * 1e-4 * np.eye(2)[axis]
        slope = (evaluate(graph, x + along) - evaluate(graph, x - along)) / 2e-4
        # Seven decimals of central differences, away from the corners of ReLU.
        assert np.median(np.abs(fast[..., 1 + axis].T - slope)) < 1e-5
    gpu_page.browser.evaluate("staf.engine.fast = null")
    slow = gpu_page.read(described, total).reshape(3, total, 4)
    assert np.abs(fast - slow).max() < 1e-4 * np.abs(slow).max()
    assert gpu_page.browser.complaints == []


def test_one_to_one_and_a_device_that_is_lost_is_replaced_by_webgl(gpu_page: Page):
    field = bright(image_field(shape=(30, 40, 3), width=70, depth=2))
    gpu_page.open(field, width=60, height=60)
    wait_for_webgpu(gpu_page)
    gpu_page.resize_canvas(40, 30)
    show(gpu_page, 0, 0, 40, 30)
    gpu_page.browser.evaluate("staf.view.changed()")
    assert worst(gpu_page.pixels(), field.render().array) <= 1
    assert gpu_page.browser.evaluate("staf.engine.result === staf.engine.uploaded")
    gpu_page.browser.evaluate("staf.engine.fast.device.destroy()")
    gpu_page.browser.evaluate("staf.view.changed()")
    assert worst(gpu_page.pixels(), field.render().array) <= 1
    assert not gpu_page.browser.evaluate(READY)
