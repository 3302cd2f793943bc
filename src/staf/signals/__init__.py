"""Signals: what is read from files or arrays, seen as values on a grid, and written back."""

from __future__ import annotations

from staf.signals.errors import SignalError
from staf.signals.image import Image

__all__ = ["Image", "SignalError"]
