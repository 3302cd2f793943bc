"""Measures of quality: pure functions of a prediction and a target."""

from __future__ import annotations

from staf.metrics.psnr import psnr

__all__ = ["psnr"]
