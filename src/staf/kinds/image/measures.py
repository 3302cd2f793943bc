"""PSNR and SSIM of a whole image in bounded memory."""

from __future__ import annotations

from torch import Tensor

from staf.metrics import psnr, ssim
from staf.metrics.ssim import WINDOW, ssim_of_each

BAND_PIXELS = 2**20
# Images of up to this many pixels are measured several at once.
SMALL_PIXELS = 2**16


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


def measures_of_each(predictions: Tensor, targets: Tensor, shape: tuple[int, int]) -> list[dict[str, float]] | None:
    """`image_measures` of each of several images (b, h*w, c) of one size; None where they are too large for that.

    >>> import torch
    >>> images = torch.rand(2, 12 * 16, 3)
    >>> measures_of_each(images, images, (12, 16))
    [{'psnr': inf, 'ssim': 1.0}, {'psnr': inf, 'ssim': 1.0}]
    """
    if shape[0] * shape[1] > SMALL_PIXELS:
        return None
    errors = (predictions.clamp(0, 1).double() - targets.double()).square().mean((1, 2))
    similarities = ssim_of_each(predictions.unflatten(1, shape), targets.unflatten(1, shape), data_range=1.0)
    pairs = zip((-10 * errors.log10()).tolist(), similarities.tolist(), strict=True)
    return [{"psnr": decibels, "ssim": similarity} for decibels, similarity in pairs]
