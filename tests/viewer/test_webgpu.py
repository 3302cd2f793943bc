"""Where there is WebGPU, it computes the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from staf.api import FittedField
from staf.export.describe import describe
from staf.export.evaluate import evaluate
from tests.export.fields import image_field
from tests.export.networks import make
from tests.reports.browser import executable
from tests.viewer.conftest import Page
from tests.viewer.gpu_browser import GpuBrowser
from tests.viewer.test_picture import bright, show, worst
from tests.viewer.test_values import SECOND, block, points

READY = "Boolean(staf.engine.fast)"


@pytest.fixture(scope="module")
def gpu() -> Iterator[GpuBrowser]:
    if executable() is None:
        pytest.skip("no Chromium")
    with GpuBrowser(webgpu=True) as browser:
        yield browser


@pytest.fixture
def gpu_page(gpu: GpuBrowser, tmp_path: Path) -> Page:
    return Page(gpu, tmp_path / "field.html")


# The formulas are those of test_values.py, where every network is compared with torch.
@pytest.mark.parametrize("name", ["staf-neuron", "wire-planar", "mfn", "pemlp", "ngp-smooth"])
def test_values_and_derivatives(name: str, gpu_page: Page):
    field, total = FittedField(make(name, width=18, depth=2), {}), 143
    gpu_page.open(field)
    gpu_page.browser.until(READY)
    x = points(block(2, 13), total)
    expected = field(x).detach().numpy()
    rounding = np.abs(evaluate(describe(field.module), x.numpy()) - expected).max()
    assert np.abs(gpu_page.read(block(2, 13), total).T - expected).max() < 1e-5 + 3 * rounding
    directions = [[0.5, 0.0], [0.0, 0.25], [0.0, 0.0]]
    described = block(2, 13, lanes=SECOND, directions=directions)
    fast = gpu_page.read(described, total)
    gpu_page.browser.evaluate("staf.engine.fast = null")
    slow = gpu_page.read(described, total)
    assert np.abs(fast - slow).max() < 1e-4 * np.abs(slow).max()
    assert gpu_page.browser.complaints == []


def test_a_wide_network_at_one_to_one(gpu_page: Page):
    field = bright(image_field(shape=(30, 40, 3), width=100, depth=3))
    gpu_page.open(field, width=120, height=90)
    gpu_page.browser.until(READY)
    gpu_page.resize_canvas(40, 30)
    show(gpu_page, 0, 0, 40, 30)
    gpu_page.browser.evaluate("staf.view.changed()")
    assert worst(gpu_page.pixels(), field.render().array) <= 1
    assert gpu_page.browser.evaluate("staf.engine.result === staf.engine.uploaded")


def test_a_device_that_is_lost_is_replaced_by_webgl(gpu_page: Page):
    field = bright(image_field(shape=(24, 24, 3), width=16, depth=2))
    gpu_page.open(field)
    gpu_page.browser.until(READY)
    gpu_page.resize_canvas(24, 24)
    show(gpu_page, 0, 0, 24, 24)
    gpu_page.browser.evaluate("staf.engine.fast.device.destroy()")
    gpu_page.browser.evaluate("staf.view.changed()")
    assert worst(gpu_page.pixels(), field.render().array) <= 1
    assert not gpu_page.browser.evaluate(READY)
