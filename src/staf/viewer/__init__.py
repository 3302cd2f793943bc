"""The page that holds its network, and the local server that shows it."""

from __future__ import annotations

from staf.viewer.live import LiveView
from staf.viewer.opening import serve
from staf.viewer.page import export_html, page
from staf.viewer.server import ViewServer
from staf.viewer.targets import TARGETS, export

__all__ = ["TARGETS", "LiveView", "ViewServer", "export", "export_html", "page", "serve"]
