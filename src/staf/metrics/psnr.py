"""Peak signal-to-noise ratio."""

from __future__ import annotations

from torch import Tensor

from staf._typing import Float
from staf.metrics.checks import check_pair, limits


def psnr(
    prediction: Float[Tensor, "*shape"], target: Float[Tensor, "*shape"], *, data_range: float | tuple[float, float]
) -> Float[Tensor, ""]:
    """10 log10(peak^2 / MSE) in decibels, of predictions clamped to the range of the data.

    `data_range` is the peak (data in [0, peak]) or a pair (low, high), where the peak is high - low. There is no
    default, because a wrong one changes every number. The mean is taken in float64. Equal tensors give inf, and a
    prediction with NaN gives NaN.

    >>> import torch
    >>> float(psnr(torch.full((4, 3), 0.6), torch.full((4, 3), 0.5), data_range=1.0).round(decimals=4))
    20.0
    >>> float(psnr(torch.tensor([7.0]), torch.tensor([1.0]), data_range=1.0))
    inf
    """
    check_pair(prediction, target)
    if prediction.numel() == 0:
        raise ValueError("prediction must hold at least one value, got none")
    low, high = limits(data_range)
    difference = prediction.clamp(low, high).double() - target.double()
    return 10 * ((high - low) ** 2 / difference.square().mean()).log10()
