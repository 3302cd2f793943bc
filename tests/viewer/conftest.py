"""Pages that are opened in a browser, and what they show."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from staf.export.meaning import Exportable
from staf.viewer.page import export_html
from tests.reports.browser import executable
from tests.viewer.gpu_browser import GpuBrowser

TO_BASE64 = """(bytes) => {
  let text = '';
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
}"""


class Page:
    """A page in a browser."""

    def __init__(self, browser: GpuBrowser, path: Path) -> None:
        self.browser, self.path = browser, path

    def open(self, field: Exportable, *, width: int = 150, height: int = 110, phone: bool = False, **how: Any) -> None:
        self.go(export_html(field, self.path, **how).as_uri(), width=width, height=height, phone=phone)

    def go(self, address: str, *, width: int = 150, height: int = 110, phone: bool = False) -> None:
        """Load a page and wait until it has drawn itself."""
        self.browser.complaints.clear()
        self.browser.requests.clear()
        screen = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self.browser.call("Emulation.setDeviceMetricsOverride", **screen)
        self.browser.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.browser.call("Page.navigate", url=address)
        self.browser.until("document.body && ['yes', 'failed'].includes(document.body.dataset.ready)")
        # The browser says so itself, where it has no WebGPU.
        self.browser.complaints = [said for said in self.browser.complaints if said != "No available adapters."]
        assert self.browser.evaluate("document.getElementById('message').textContent") == ""

    def resize_canvas(self, width: int, height: int) -> None:
        """Give the canvas a size of its own, whatever the layout says."""
        self.browser.apply(
            """async (width, height) => {
              const {style} = document.getElementById('canvas');
              Object.assign(style, {position: 'fixed', left: 0, top: 0, width: `${width}px`, height: `${height}px`});
              const fits = () => staf.canvas.width === width && staf.canvas.height === height;
              while (!fits()) await new Promise(requestAnimationFrame);
            }""",
            width,
            height,
        )

    def pixels(self) -> np.ndarray:
        """The colours on the canvas, (h, w, 3), when all work is done."""
        data = self.browser.apply(f"async () => ({TO_BASE64})(await staf.pixels())")
        width, height = self.browser.evaluate("[staf.canvas.width, staf.canvas.height]")
        return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[..., :3]

    def read(self, block: dict[str, Any], total: int) -> np.ndarray:
        """Values (channels, numbers) of a block of points."""
        data = self.browser.apply(
            f"""async (block, total) => (await staf.read('test', block, total))
              .map((values) => ({TO_BASE64})(new Uint8Array(values.buffer)))""",
            block,
            total,
        )
        return np.stack([np.frombuffer(base64.b64decode(part), np.float32) for part in data])


@pytest.fixture(scope="session")
def browser() -> Iterator[GpuBrowser]:
    if executable() is None:
        pytest.skip("no Chromium")
    with GpuBrowser() as browser:
        yield browser


@pytest.fixture
def page(browser: GpuBrowser, tmp_path: Path) -> Page:
    return Page(browser, tmp_path / "field.html")
