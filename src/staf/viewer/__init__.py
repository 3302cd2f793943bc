"""The page that contains its network, and the local server that shows it."""

from __future__ import annotations

from staf.export.errors import ExportError
from staf.viewer.live import LiveView
from staf.viewer.notebook import EmbeddedPage, embedded
from staf.viewer.opening import serve
from staf.viewer.page import export_html, page
from staf.viewer.server import ViewServer
from staf.viewer.targets import TARGETS, export

__all__ = [
    "TARGETS",
    "EmbeddedPage",
    "ExportError",
    "LiveView",
    "ViewServer",
    "embedded",
    "export",
    "export_html",
    "page",
    "serve",
]
