"""LPIPS of a fit, where its weights are at hand."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from staf.metrics import LPIPS

SMALLEST_SIDE = 31


@lru_cache(maxsize=2)
def lpips_model(device: str) -> LPIPS | None:
    """The published weights on a device; None where there are none (`python -m staf.metrics.lpips_convert`)."""
    from staf.metrics import load_lpips

    try:
        return load_lpips().to(device)
    except FileNotFoundError:
        return None


def perceptual_distance(prediction: Tensor, target: Tensor) -> dict[str, float]:
    """`lpips` of two images (h, w, c) in [0, 1]; nothing without weights, or for images that are too small for them.

    >>> import torch
    >>> perceptual_distance(torch.zeros(8, 8, 3), torch.zeros(8, 8, 3))
    {}
    """
    model = lpips_model(str(prediction.device)) if min(prediction.shape[:2]) >= SMALLEST_SIDE else None
    if model is None or prediction.shape[2] not in (1, 3):
        return {}
    from staf.metrics import lpips

    return {"lpips": float(lpips(prediction, target, data_range=1.0, model=model))}


def chroma_psnr(prediction: Tensor, target: Tensor) -> dict[str, float]:
    """`luma_psnr` and `chroma_psnr` of colour images (h, w, 3) in [0, 1]: where an error is brightness, where colour.

    Brightness and colour differences are those of BT.601. Equal errors of all channels are no colour.

    >>> import torch
    >>> grey = chroma_psnr(torch.full((4, 4, 3), 0.1), torch.zeros(4, 4, 3))
    >>> round(grey["luma_psnr"], 6), grey["chroma_psnr"] > 100
    (20.0, True)
    """
    if prediction.shape[2] != 3:
        return {}
    import torch

    rows = [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]
    matrix = torch.tensor(rows, dtype=torch.float64, device=prediction.device)
    error = ((prediction - target).double() @ matrix.T).square().mean((0, 1))
    decibels = -10 * torch.log10(torch.stack([error[0], error[1:].mean()]).clamp(min=1e-30))
    return {"luma_psnr": float(decibels[0]), "chroma_psnr": float(decibels[1])}


def predicted_image(fit: Any) -> tuple[Tensor, Tensor]:
    """What a fit of an image predicts at its pixels, clamped, and the image itself, both (h, w, c) in [0, 1]."""
    from staf.signals.grid import coordinates
    from staf.training import predictor

    signal, task = fit.signal, fit.task
    device = next(fit.module.parameters()).device
    points = coordinates(signal.shape, task.convention).to(device)
    values = predictor(fit.module, 2**18)(points).float().clamp(0, 1)
    picture = (*signal.shape, signal.out_features)
    return values.reshape(picture), task.transform.fitted(signal.values()).to(device).float().reshape(picture)


def seen_measures(task: Any, values: Tensor) -> dict[str, float]:
    """LPIPS, and the errors of brightness and colour, of a restored image (n, c) against the truth of its task."""
    picture = (*task.signal.shape, task.out_features)
    truth = task.transform.fitted(task.truth.values()).reshape(picture).float()
    restored = values.reshape(picture).float().clamp(0, 1)
    return {**perceptual_distance(restored, truth), **chroma_psnr(restored, truth)}
