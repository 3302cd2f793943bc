"""PSNR and SSIM of a whole image in bounded memory."""

from __future__ import annotations

from torch import Tensor

from staf.metrics import psnr, ssim
from staf.metrics.ssim import WINDOW

BAND_PIXELS = 2**20


def image_measures(prediction: Tensor, target: Tensor, shape: tuple[int, int]) -> dict[str, float]:
    """PSNR and SSIM of values (h*w, c) in [0, 1].

    SSIM is the mean over window positions, so bands of rows that overlap by a window less one row, weighted by their
    positions, give the same number as the whole.

    >>> import torch
    >>> image = torch.rand(20 * 30, 3)
    >>> image_measures(image, image, (20, 30))
    {'psnr': inf, 'ssim': 1.0}
    """
    height, width = shape
    x, y = prediction.reshape(height, width, -1), target.reshape(height, width, -1)
    overlap = WINDOW - 1
    rows = max(4 * WINDOW, BAND_PIXELS // width)
    total, positions = 0.0, 0
    for top in range(0, max(1, height - overlap), rows):
        band = slice(top, min(height, top + rows + overlap))
        count = max(1, min(height, top + rows + overlap) - top - overlap)
        total += count * float(ssim(x[band], y[band], data_range=1.0))
        positions += count
    return {"psnr": float(psnr(prediction, target, data_range=1.0)), "ssim": total / positions}
