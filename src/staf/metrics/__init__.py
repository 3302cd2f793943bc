"""Measures of quality: pure functions of a prediction and a target."""

from __future__ import annotations

from staf.metrics.lpips import LPIPS, load_lpips, lpips
from staf.metrics.psnr import psnr
from staf.metrics.ssim import ssim

__all__ = ["LPIPS", "load_lpips", "lpips", "psnr", "ssim"]
