"""Matplotlib pictures: data in, a Figure out. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from staf.figures.activations import ActivationCurves, activation_curves
from staf.figures.comparison import Contender, comparison
from staf.figures.curves import psnr_curve
from staf.figures.error_map import error_map, pixel_error

__all__ = [
    "ActivationCurves",
    "Contender",
    "activation_curves",
    "comparison",
    "error_map",
    "pixel_error",
    "psnr_curve",
]
