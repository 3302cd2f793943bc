"""Headless Chromium with WebGL2 and WebGPU in software."""

from __future__ import annotations

import json
from typing import Any

from tests.reports.browser import FLAGS, Browser

SOFTWARE = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"]


class GpuBrowser(Browser):
    """A browser that draws with software; `webgpu` is off unless asked for."""

    def __init__(self, *, webgpu: bool = False) -> None:
        kept = [flag for flag in FLAGS if flag != "--disable-gpu"]
        super().__init__([*kept, *SOFTWARE, *(WEBGPU if webgpu else [])])

    def promise(self, expression: str) -> Any:
        """The value that a promise comes to."""
        most = 1000 * self.seconds
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, timeout=most
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{answer['exceptionDetails']}")
        return answer["result"].get("value")

    def apply(self, function: str, *arguments: Any) -> Any:
        """What a JavaScript function, which may be asynchronous, makes of arguments given as data."""
        return self.promise(f"({function})(...{json.dumps(arguments)})")
