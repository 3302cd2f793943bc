"""Matplotlib pictures: data in, a Figure out. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from .activations import ActivationCurves, activation_curves

__all__ = ["ActivationCurves", "activation_curves"]
