"""Matplotlib pictures: data in, a Figure out. Matplotlib and torch are loaded when something needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from staf.figures.comparison import Contender, comparison
from staf.figures.curves import psnr_curve
from staf.figures.error_map import error_map, pixel_error

if TYPE_CHECKING:
    from staf.figures.activations import ActivationCurves, activation_curves

__all__ = [
    "ActivationCurves",
    "Contender",
    "activation_curves",
    "comparison",
    "error_map",
    "pixel_error",
    "psnr_curve",
]


def __getattr__(name: str) -> Any:
    if name not in ("ActivationCurves", "activation_curves"):
        raise AttributeError(f"module 'staf.figures' has no attribute {name!r}")
    from staf.figures import activations

    return getattr(activations, name)
