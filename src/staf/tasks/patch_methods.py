"""Missing pixels filled in, and noise taken out, by groups of similar patches: passes that each guide the next."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from staf._typing import Bool, Float
from staf.tasks.learned_filling import filled_by_network
from staf.tasks.patch_groups import Group, patch_estimate, similar

# Larger pictures take many minutes on one core; in smaller ones too few patches are similar.
MOST_PIXELS = 2**17
LEAST_SIDE = 32
# How far, in units of the range, a patch may be from what is observed of it, in each pass. Centre crops of 96x96 of
# kodim03, train_01 and train_02 with a fifth of the pixels, where biharmonic has 30.56, 29.10 and 22.44 dB, and an
# earlier network 30.97, 29.83 and 22.75: these passes have 31.52, 30.03 and 23.05; six from 0.06 to 0.02 31.30, 29.92
# and 23.00; eight from 0.03 to 0.01 31.53, 30.03 and 23.00. A reach of 10 loses 0.03 to 0.3 dB.
FILLING = tuple(0.04 * 0.25 ** (step / 5) for step in range(6))
REACH = 16
# Of `patch_estimate`, in units of the range: kodim03 has 31.22 dB with equal weights, 31.39 with 0.02, 31.28 with 0.05.
LEVEL = 0.02
# Passes that share the groups of the first of them: three take half the time of one, and lose 0.03 dB.
SAME_GROUPS = 3
# Passes that take noise out; on kodim03, 10 photons, 128x128, four of them have 26.37, 27.07, 27.46, 27.69, 27.84 dB,
# the first being total variation; with patches of 5x5 27.58, with groups of 40 27.52.
DENOISING_PASSES = 6
# The guide has less spread than the truth, so that the noise is taken for this much weaker in variance. At 96x96 six
# passes with 0.7, 1, 1.5, 2 and 3 have 21.6, 22.0, 22.3, 21.9 and 20.4 dB on kodim13, total variation 21.5.
TRUST = 1.5
# The noise of darker values is that of this one, in units of the range: photons that were not seen say little.
DARKEST = 0.02


def patches_serve(shape: tuple[int, ...]) -> bool:
    """Whether a grid is a picture of a size for which groups of patches are tried.

    >>> patches_serve((256, 256)), patches_serve((8, 256)), patches_serve((64, 64, 64))
    (True, False, False)
    """
    return len(shape) == 2 and min(shape) >= LEAST_SIDE and math.prod(shape) <= MOST_PIXELS


def filled_by_patches(image: Float[Tensor, "c h w"], known: Bool[Tensor, "h w"]) -> Float[Tensor, "c h w"]:
    """`image` where `known`, and elsewhere the mean of the learned filling and of what similar patches make of it.

    The two err in different places: ten photos with a fifth of their pixels (those of `non_local.FILTERS`, 96x96) are
    1.80 dB above biharmonic in the mean by the learned filling, 1.89 by the patches and 1.98 by their mean.

    >>> columns = (torch.arange(24) % 4 < 2).float().expand(1, 24, 24)
    >>> known = torch.rand(24, 24, generator=torch.Generator().manual_seed(0)) < 0.5
    >>> from staf.tasks.filling import filled
    >>> smooth, grouped = (of(columns * known, known) - columns for of in (filled, filled_by_patches))
    >>> bool(grouped.square().mean() < 0.1 * smooth.square().mean())
    True
    """
    guide = start = filled_by_network(image, known)
    groups: list[Group] = []
    for step, width in enumerate(FILLING):
        if step % SAME_GROUPS == 0:
            groups = similar(guide, patch=5, count=24, stride=2, reach=REACH)
        precision = known.to(image.dtype).expand_as(image) / width**2
        estimate = patch_estimate(image, precision, guide, groups, patch=5, level=LEVEL)
        guide = torch.where(known, image, estimate)
    return (start + guide) / 2


def denoised_by_patches(
    image: Float[Tensor, "c h w"],
    known: Bool[Tensor, "h w"],
    guide: Float[Tensor, "c h w"],
    noise: tuple[float, float],
) -> Float[Tensor, "c h w"]:
    """What similar patches say of a noisy picture, of which only `known` pixels are used.

    `noise` is (a, b): the variance of a value v is a v + b, so that a alone is the noise of 1 / a photons. `guide` is
    the result of another method.
    """
    slope, level = noise
    for _ in range(DENOISING_PASSES):
        variance = (slope * guide.clamp(min=DARKEST) + level).clamp(min=1e-6)
        groups = similar(guide, patch=7, count=80, stride=3)
        guide = patch_estimate(image, known * TRUST / variance, guide, groups, patch=7)
    return guide


def noise_of(predicted: Float[Tensor, "m c"], seen: Float[Tensor, "m c"]) -> tuple[float, float]:
    """(a, b) >= 0 for which a v + b is nearest to the squared error of predictions v of noisy values.

    Predictions that did not see these values have errors that are the noise, and a little of their own.

    >>> clean = torch.linspace(0, 1, 10000)[:, None]
    >>> noisy = torch.poisson(10 * clean, generator=torch.Generator().manual_seed(0)) / 10
    >>> slope, level = noise_of(clean, noisy)
    >>> abs(slope - 0.1) < 0.01, level < 0.005
    (True, True)
    """
    value, square = predicted.double().flatten(), (seen - predicted).double().square().flatten()
    both = torch.stack([value, torch.ones_like(value)], dim=1)
    slope, level = torch.linalg.lstsq(both, square).solution.tolist()
    if slope < 0 or len(square) < 100:
        return 0.0, float(square.mean())
    if level < 0:
        return float((value * square).sum() / value.square().sum()), 0.0
    return slope, level
