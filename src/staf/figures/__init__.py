"""Matplotlib pictures: data in, a Figure out. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from staf.figures.activations import ActivationCurves, activation_curves
from staf.figures.comparison import Contender, comparison
from staf.figures.curves import psnr_curve
from staf.figures.error_map import error_map, pixel_error
from staf.figures.inspection import inspect_figure
from staf.figures.shape import View, shape_comparison, shape_picture

__all__ = [
    "ActivationCurves",
    "Contender",
    "View",
    "activation_curves",
    "comparison",
    "error_map",
    "inspect_figure",
    "pixel_error",
    "psnr_curve",
    "shape_comparison",
    "shape_picture",
]
