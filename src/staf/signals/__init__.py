"""What all signals share: the `Signal` type and its view, grids, value transforms, rendering, whole files, errors.

Nothing is imported before it is used, so that the command line can describe the kinds of signal without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    "Signal": "base",
    "SignalError": "errors",
    "View": "view",
    "output_grid": "rendering",
    "render_grid": "rendering",
}

__all__ = ["Signal", "SignalError", "View", "output_grid", "render_grid"]

if TYPE_CHECKING:
    from staf.signals.base import Signal
    from staf.signals.errors import SignalError
    from staf.signals.rendering import output_grid, render_grid
    from staf.signals.view import View


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'staf.signals' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"staf.signals.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
