"""Log-spectral distance between waveforms."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float

WINDOW, HOP, FLOOR_DB = 2048, 512, -80.0
FRAMES_AT_ONCE = 2048


def log_spectral_distance(
    prediction: Float[Tensor, "n c"],
    target: Float[Tensor, "n c"],
    *,
    window: int = WINDOW,
    hop: int = HOP,
    floor_db: float = FLOOR_DB,
) -> Float[Tensor, ""]:
    """Mean over frames and channels of the root mean square difference of levels over frequencies, in dB.

    LSD = mean_t sqrt(mean_f (L(prediction)_tf - L(target)_tf)^2), where L = 10 log10 max(P, floor) and P is the power
    spectrum of a frame of `window` samples under a Hann window, frames starting every `hop` samples. The floor lies
    `floor_db` below the largest P of the target, or below 1 if it is silent, so that inaudible parts do not count.
    A shorter signal is one frame; after the last whole frame, there is one more that ends with the signal. Zero
    means equal.

    >>> wave = torch.sin(torch.arange(4096) * 0.3)[:, None]
    >>> float(log_spectral_distance(wave, wave)), round(float(log_spectral_distance(10 * wave, wave, floor_db=-200)))
    (0.0, 20)
    """
    if prediction.shape != target.shape or target.dim() != 2:
        raise ValueError(
            f"prediction and target must have the same shape (n, c), got {tuple(prediction.shape)} and "
            f"{tuple(target.shape)}"
        )
    if target.numel() == 0:
        raise ValueError(f"target must hold at least one sample, got shape {tuple(target.shape)}")
    for name, value in (("window", window), ("hop", hop)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1 sample, got {value}")
    if not floor_db < 0:
        raise ValueError(f"floor_db must be negative, got {floor_db}")
    samples = len(target)
    window = min(window, samples)
    starts = torch.arange(0, samples - window + 1, hop, device=target.device)
    if int(starts[-1]) != samples - window:
        starts = torch.cat([starts, starts.new_tensor([samples - window])])
    parts = [starts[i : i + FRAMES_AT_ONCE] for i in range(0, len(starts), FRAMES_AT_ONCE)]
    largest = torch.stack([_power(target, part, window).max() for part in parts]).max()
    floor = torch.where(largest > 0, largest, 1.0) * 10 ** (floor_db / 10)
    total = torch.zeros((), dtype=torch.float64, device=target.device)
    for part in parts:
        levels = [10 * _power(wave, part, window).clamp(min=floor).log10() for wave in (prediction, target)]
        total = total + (levels[0] - levels[1]).square().mean(-1).sqrt().sum()
    return total / (len(starts) * target.shape[1])


def _power(wave: Tensor, starts: Tensor, window: int) -> Tensor:
    """Power spectra (c, frames, window // 2 + 1) of the frames of a wave (n, c), in float64."""
    taper = torch.hann_window(window, dtype=torch.float64, device=wave.device) if window > 2 else 1.0
    frames = wave.T[:, starts[:, None] + torch.arange(window, device=wave.device)].double()
    return torch.fft.rfft(frames * taper).abs().square()
