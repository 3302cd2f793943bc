"""Self-similarity of pictures: an enlarged one made sharper by means over its own similar patches."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._extras import need
from staf._typing import Float
from staf.operators import AreaDownsampling

# Widths of the kernel over patch distances, in units of the range, one for each pass. Chosen on kodim03 and kodim13
# reduced to 128x128, 4x, by the passes alone: Lanczos 27.68 and 21.94 dB; corrected 27.91 and 22.04; from 0.05 to 0.02
# in 6 passes 29.06 and 22.20; from 0.1 to 0.02 in 8 29.27 and 22.25; from 0.1 to 0.05 29.06 and 22.19.
WIDTHS = tuple(0.1 * 0.2 ** (step / 7) for step in range(8))
PATCH, DISTANCE = 5, 7
# Larger results take minutes a pass.
MOST_PIXELS = 2**20


def back_projected(values: Float[Tensor, "c h w"], observed: Float[Tensor, "c a b"], factor: int) -> Tensor:
    """The picture nearest to `values` whose area means are what is observed.

    >>> back_projected(torch.zeros(1, 2, 2), torch.ones(1, 1, 1), 2)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    means = AreaDownsampling(tuple(values.shape[1:]), factor)
    # The adjoint spreads a pixel's value over its cells in equal parts.
    return values + factor**2 * means.A_adjoint(observed - means.A(values))


def sharpened(values: Float[Tensor, "c h w"], observed: Float[Tensor, "c a b"], factor: int) -> Tensor:
    """The mean of `values`, back-projected, and of what passes of non-local means make of it.

    Means over similar patches sharpen edges that enlarging has blurred, and the area means that are observed, restored
    after each pass, keep them where they belong. Both err in different places. Centre crops of 96x96, 4x: on kodim03
    29.97 dB before the passes, 30.21 after them, 30.19 in the mean; on train_01 29.36, 29.31 and 29.37; on train_02
    22.00, 22.00 and 22.05; on nine such pictures the mean was never below the first.
    """
    denoise = need("image", "skimage.restoration").denoise_nl_means
    values = start = back_projected(values, observed, factor)
    for width in WIDTHS:
        # A single channel given as an axis is taken for something else.
        given, axis = (values[0].numpy(), None) if len(values) == 1 else (values.numpy(), 0)
        done = denoise(given, patch_size=PATCH, patch_distance=DISTANCE, h=width, channel_axis=axis)
        mean = torch.from_numpy(done).to(values.dtype).reshape(values.shape)
        values = back_projected(mean, observed, factor)
    return (start + values) / 2
