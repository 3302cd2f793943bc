"""Structural similarity."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from staf._typing import Float
from staf.metrics.data_range import limits

WINDOW = 11
SIGMA = 1.5


def ssim(
    prediction: Float[Tensor, "h w c"], target: Float[Tensor, "h w c"], *, data_range: float | tuple[float, float]
) -> Float[Tensor, ""]:
    """The mean structural similarity of two images, in [-1, 1]; 1 is equality (Wang et al. 2004).

    At each position where the gaussian window (11x11, sigma 1.5) fits into the image, with its weighted means m,
    variances s^2 and covariance s_xy, K1 = 0.01, K2 = 0.03 and peak L:

        (2 m_x m_y + (K1 L)^2) (2 s_xy + (K2 L)^2) / ((m_x^2 + m_y^2 + (K1 L)^2) (s_x^2 + s_y^2 + (K2 L)^2))

    averaged over positions and channels, as the authors and scikit-image do (some libraries also count reflected
    borders). Predictions are clamped to `data_range`, a peak or a pair (low, high). On an
    image side shorter than 11 the window shrinks along it to the longest odd length that fits, so that one pixel
    still has a value: its luminance term.

    >>> image = torch.linspace(0, 1, 16 * 16).reshape(16, 16, 1)
    >>> float(ssim(image, image, data_range=1.0))
    1.0
    """
    if prediction.shape != target.shape:
        raise ValueError(
            f"prediction and target must have one shape, got {tuple(prediction.shape)} and {tuple(target.shape)}"
        )
    if prediction.ndim != 3 or prediction.numel() == 0:
        raise ValueError(f"prediction must have shape (h, w, c) and not be empty, got {tuple(prediction.shape)}")
    low, high = limits(data_range)
    # The statistics are differences of close numbers: in float32 flat regions would lose their last digits.
    x = (prediction.clamp(low, high) - low).double().permute(2, 0, 1)[:, None]
    y = (target - low).double().permute(2, 0, 1)[:, None]
    c1, c2 = (0.01 * (high - low)) ** 2, (0.03 * (high - low)) ** 2
    mean_x, mean_y = _smooth(x), _smooth(y)
    variance_x, variance_y = _smooth(x * x) - mean_x**2, _smooth(y * y) - mean_y**2
    covariance = _smooth(x * y) - mean_x * mean_y
    luminance = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    return (luminance * (2 * covariance + c2) / (variance_x + variance_y + c2)).mean()


def _smooth(images: Tensor) -> Tensor:
    """Images (c, 1, h, w) under the gaussian window, at the positions where it fits."""
    for dim in (2, 3):
        side = images.shape[dim]
        length = min(WINDOW, side if side % 2 else side - 1)
        distance = torch.arange(length, dtype=images.dtype, device=images.device) - length // 2
        weights = torch.exp(-(distance**2) / (2 * SIGMA**2))
        kernel = (weights / weights.sum()).view([1, 1, length, 1] if dim == 2 else [1, 1, 1, length])
        images = functional.conv2d(images, kernel)
    return images
