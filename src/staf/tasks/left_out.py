"""Which parts of what is observed a method is applied without, to see how well it predicts them."""

from __future__ import annotations

import math

import torch

from staf._typing import Int
from staf.operators import Mask
from staf.tasks.denoising import Denoising
from staf.tasks.inverse import InverseProblem

# Few held-out pixels choose badly between methods: with 92 the choice was wrong in two of ten pictures. Where there
# are fewer than this, methods without a network are also applied without other parts of what is observed.
ENOUGH = 1000
# The share of what is observed in each of these parts, and how many there are at most.
SHARE, MOST = 0.15, 4


def left_out(task: Denoising | InverseProblem) -> list[Int[torch.Tensor, " m"]]:
    """Parts of the observation as flat indices: first what the task holds out, then others where that is little.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> noisy = Image(np.zeros((20, 20), np.uint8))
    >>> task = Denoising(noisy, generator=torch.Generator().manual_seed(0), held_out=0.05)
    >>> [len(part) for part in left_out(task)]
    [20, 60, 60, 60, 60]
    """
    held, fitted = task.held_out_index.cpu(), task.train_index.cpu()
    # Other operators take minutes to be solved, and their observations are many.
    quick = isinstance(task, Denoising) or isinstance(task.operator, Mask)
    if not len(held) or not quick:
        return [held]
    size = max(1, round(SHARE * (len(held) + len(fitted))))
    count = min(MOST, max(0, math.ceil((ENOUGH - len(held)) / size)))
    order = fitted[torch.randperm(len(fitted), generator=torch.Generator().manual_seed(0))]
    return [held, *order.split(size)[:count]]
