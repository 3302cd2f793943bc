"""What all signals share: grids and coordinates, value transforms, rendering, writing whole files, errors."""

from __future__ import annotations

from staf.signals.errors import SignalError
from staf.signals.rendering import render_grid, view

__all__ = ["SignalError", "render_grid", "view"]
