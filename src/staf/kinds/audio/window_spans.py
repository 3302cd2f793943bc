"""A long recording as overlapping windows, each with coordinates of its own, and their joint without clicks.

Ten minutes at 44.1 kHz are 26 million samples, whose spacing on [-1, 1] is that of float32 itself; a window's is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from staf.signals.errors import SignalError

Span = tuple[int, int]


def spans(samples: int, length: int, overlap: int) -> list[Span]:
    """(start, stop) of windows of one length, at most `length`, that cover `samples`; neighbours share `overlap`.

    Rounding makes some neighbours share a sample more or less, never fewer than one.

    >>> spans(100, 40, 10)
    [(0, 40), (30, 70), (60, 100)]
    >>> spans(30, 40, 10)
    [(0, 30)]
    """
    if samples < 1:
        raise SignalError(f"samples must be at least 1, got {samples}")
    if not 1 <= overlap <= length // 2:
        raise SignalError(f"overlap must be from 1 sample to half of a window of {length}, got {overlap}")
    if samples <= length:
        return [(0, samples)]
    count = -(-(samples - overlap) // (length - overlap))
    length = -(-(samples + (count - 1) * overlap) // count)
    starts = [round(i * (samples - length) / (count - 1)) for i in range(count)]
    return [(start, start + length) for start in starts]


def fade(at: Tensor, windows: Sequence[Span], number: int) -> Tensor:
    """The weight of a window at positions `at` (n,) in samples; over all windows they add up to one.

    It rises linearly over the overlap with the window before and falls over that with the next: both fields say the
    same there, so that their amplitudes, not their powers, must add up.

    >>> fade(torch.tensor([29.0, 35.0, 50.0]), [(0, 40), (30, 70)], 0).tolist()
    [1.0, 0.5, 0.0]
    """
    start, stop = windows[number]
    weight = torch.ones_like(at)
    if number > 0:
        weight = weight * ((at - start) / (windows[number - 1][1] - start)).clamp(0, 1)
    if number < len(windows) - 1:
        weight = weight * ((stop - at) / (stop - windows[number + 1][0])).clamp(0, 1)
    return weight


def joined(
    windows: Sequence[Span], predicts: Sequence[Callable[[Tensor], Tensor]], channels: int, per_sample: float = 1.0
) -> np.ndarray:
    """Values (n, channels) of fields of windows, `per_sample` new samples for each old one, cross-faded.

    `predicts[i]` maps the local coordinates (m, 1) of window i, whose cells span [-1, 1], to values (m, channels).

    >>> joined([(0, 4), (2, 6)], [lambda x: x, lambda x: x + 1], 1)[:, 0].tolist()
    [-0.75, -0.25, 0.25, 0.75, 1.25, 1.75]
    """
    total = windows[-1][1]
    out = np.zeros((max(1, round(total * per_sample)), channels), np.float32)
    for number, (start, stop) in enumerate(windows):
        first, last = round(start * per_sample), min(len(out), round(stop * per_sample))
        at = (torch.arange(first, last, dtype=torch.float64) + 0.5) / per_sample
        local = (2 * (at - start) / (stop - start) - 1).float()[:, None]
        values = predicts[number](local).detach().double().cpu()
        out[first:last] += (fade(at, windows, number)[:, None] * values).float().numpy()
    return out
