"""Measures of quality: pure functions of a prediction and a target."""

from __future__ import annotations

from staf.metrics.chamfer import chamfer
from staf.metrics.iou import iou
from staf.metrics.lpips import LPIPS, load_lpips, lpips
from staf.metrics.normal_consistency import normal_consistency
from staf.metrics.psnr import psnr
from staf.metrics.spectral_distance import log_spectral_distance
from staf.metrics.ssim import ssim

__all__ = [
    "LPIPS",
    "chamfer",
    "iou",
    "load_lpips",
    "log_spectral_distance",
    "lpips",
    "normal_consistency",
    "psnr",
    "ssim",
]
