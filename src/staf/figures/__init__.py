"""Matplotlib pictures: data in, a Figure out. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from .activations import ActivationCurves, activation_curves
from .comparison import Contender, comparison
from .curves import psnr_curve
from .error_map import error_map, pixel_error
from .inspection import inspect_figure
from .shape import View, shape_comparison, shape_picture

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
