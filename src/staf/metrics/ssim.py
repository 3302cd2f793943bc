"""Structural similarity."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from staf._typing import Float
from staf.metrics.checks import check_pair, limits

WINDOW = 11
SIGMA = 1.5
# Rows of positions computed at a time, and of channels as many as have so few numbers: a huge image needs little beyond
# itself, and a small one few calls.
BAND = 256
FEW = 2**18
# Small images whose similarity is computed at once.
TOGETHER = 64
# Sides of up to this many samples are filtered by a product with a banded matrix: torch's convolutions in float64 take
# several times as long there.
SHORT = 256


def ssim(
    prediction: Float[Tensor, "h w c"], target: Float[Tensor, "h w c"], *, data_range: float | tuple[float, float]
) -> Float[Tensor, ""]:
    """The mean structural similarity of two images, in [-1, 1]; 1 means equal (Wang et al. 2004).

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
    check_pair(prediction, target)
    if prediction.ndim != 3 or prediction.numel() == 0:
        raise ValueError(f"prediction must have shape (h, w, c) and not be empty, got {tuple(prediction.shape)}")
    low, high = limits(data_range)
    rows, columns = (_weights(side, prediction.device) for side in prediction.shape[:2])
    positions = prediction.shape[0] - len(rows) + 1
    total = torch.zeros((), dtype=torch.float64, device=prediction.device)
    channels = prediction.shape[2]
    together = max(1, min(channels, FEW // (min(BAND, positions) * prediction.shape[1])))
    for first in range(0, channels, together):
        for top in range(0, positions, BAND):
            part = (slice(top, min(top + BAND, positions) + len(rows) - 1), slice(None), slice(first, first + together))
            x = (prediction[part].clamp(low, high) - low).double().movedim(2, 0)
            y = (target[part] - low).double().movedim(2, 0)
            total = total + _similarity(x, y, rows, columns, high - low).sum()
    return total / (positions * (prediction.shape[1] - len(columns) + 1) * prediction.shape[2])


def ssim_of_each(
    predictions: Float[Tensor, "b h w c"],
    targets: Float[Tensor, "b h w c"],
    *,
    data_range: float | tuple[float, float],
) -> Float[Tensor, " b"]:
    """`ssim` of each of several small images of one size, in a few calls for all of them.

    >>> images = torch.rand(5, 12, 16, 3)
    >>> ssim_of_each(images, images, data_range=1.0).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    low, high = limits(data_range)
    rows, columns = (_weights(side, predictions.device) for side in predictions.shape[1:3])
    found = []
    for some, of_them in zip(predictions.split(TOGETHER), targets.split(TOGETHER), strict=True):
        x = (some.clamp(low, high) - low).double().movedim(3, 1).flatten(0, 1)
        y = (of_them - low).double().movedim(3, 1).flatten(0, 1)
        found.append(_similarity(x, y, rows, columns, high - low).unflatten(0, (len(some), -1)).mean((1, 2, 3)))
    return torch.cat(found)


def _similarity(x: Tensor, y: Tensor, rows: Tensor, columns: Tensor, peak: float) -> Tensor:
    """The similarity at every position of (c, h, w) arrays, in float64: variances are differences of close numbers."""
    c1, c2 = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    moments = torch.stack([x, y, x * x, y * y, x * y]).flatten(0, 1)
    mean_x, mean_y, square_x, square_y, product = _windowed(moments, rows, columns).unflatten(0, (5, -1))
    variance_x, variance_y, covariance = square_x - mean_x**2, square_y - mean_y**2, product - mean_x * mean_y
    luminance = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    return luminance * (2 * covariance + c2) / (variance_x + variance_y + c2)


def _windowed(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Weighted means of (n, h, w) at every position of the window."""
    height, width = images.shape[1:]
    if max(height, width) <= SHORT:
        return _banded(rows, height) @ images @ _banded(columns, width).mT
    along = functional.conv2d(images[:, None], rows.view(1, 1, -1, 1))
    return functional.conv2d(along, columns.view(1, 1, 1, -1))[:, 0]


def _banded(weights: Tensor, side: int) -> Tensor:
    """The matrix (positions, side) whose rows are the window at each position."""
    positions = side - len(weights) + 1
    place = torch.arange(positions, device=weights.device)[:, None] + torch.arange(len(weights), device=weights.device)
    return weights.new_zeros(positions, side).scatter_(1, place, weights.expand(positions, -1))


def _weights(side: int, device: torch.device) -> Tensor:
    """The window along an axis of `side` samples."""
    length = min(WINDOW, side if side % 2 else side - 1)
    distance = torch.arange(length, dtype=torch.float64, device=device) - length // 2
    weights = torch.exp(-(distance**2) / (2 * SIGMA**2))
    return weights / weights.sum()
