from __future__ import annotations

import pytest
import torch

from staf.tasks.patch_groups import patch_estimate, patches, similar


def pattern(size: int = 20) -> torch.Tensor:
    """Two channels of stripes that repeat every five pixels."""
    place = torch.arange(size)
    return torch.stack([(place[:, None] + place) % 5, (place[:, None] - place) % 5]).float() / 5


def test_similar_patches_are_the_nearest_and_every_pixel_is_covered():
    picture = torch.rand(2, 12, 14, generator=torch.Generator().manual_seed(0))
    rows = patches(picture, 3)
    covered = torch.zeros(12, 14, dtype=torch.bool)
    for own, group in similar(picture, patch=3, count=5, stride=2, reach=12):
        distances = torch.cdist(rows[own], rows)
        expected = distances.topk(5, largest=False).values
        torch.testing.assert_close(distances.gather(1, group).sort(1).values, expected)
        assert torch.equal(group[:, 0], own)
        for start in own.tolist():
            covered[start // 12 : start // 12 + 3, start % 12 : start % 12 + 3] = True
    assert covered.all()


def test_the_estimate_is_the_conditional_mean_of_a_gaussian():
    generator = torch.Generator().manual_seed(0)
    guide, observed = torch.rand(2, 1, 4, 5, generator=generator)
    precision = torch.rand(1, 4, 5, generator=generator) + 0.1
    rows, seen, sure = (patches(of.double(), 4) for of in (guide, observed, precision))
    mean, covariance = rows.mean(0), torch.cov(rows.T)
    gain = covariance @ torch.linalg.inv(covariance + torch.diag_embed(1 / sure))
    estimates = mean + (gain @ (seen - mean)[..., None])[..., 0]
    expected = torch.zeros(4, 5, dtype=torch.float64)
    expected[:, :4] += estimates[0].reshape(4, 4)
    expected[:, 1:] += estimates[1].reshape(4, 4)
    expected[:, 1:4] /= 2
    groups = similar(guide, patch=4, count=2, stride=1)
    found = patch_estimate(observed, precision, guide, groups, patch=4)
    torch.testing.assert_close(found[0].double(), expected, atol=1e-5, rtol=0)
    # What is left of the variance weighs the two patches.
    left = (covariance - gain @ covariance).diagonal(dim1=1, dim2=2).reshape(2, 4, 4)
    sure = 1 / (left + 0.1**2)
    first, second = sure[0, :, 1:], sure[1, :, :3]
    parts = estimates.reshape(2, 4, 4)
    expected[:, 1:4] = (first * parts[0, :, 1:] + second * parts[1, :, :3]) / (first + second)
    found = patch_estimate(observed, precision, guide, groups, patch=4, level=0.1)
    torch.testing.assert_close(found[0].double(), expected, atol=1e-4, rtol=0)


def test_values_without_precision_have_no_part():
    picture = pattern()
    precision = torch.full_like(picture, 100.0)
    precision[:, 7, 9] = 0
    other = picture.clone()
    other[:, 7, 9] = 9.0
    groups = similar(picture, patch=5, count=20, stride=2)
    found = patch_estimate(other, precision, picture, groups, patch=5)
    assert torch.equal(found, patch_estimate(picture, precision, picture, groups, patch=5))
    assert (found - picture).abs().max() < 0.02


def test_a_group_larger_than_the_corner_of_a_picture_is_refused():
    picture = pattern(8)
    with pytest.raises(ValueError, match="count must be from 2 to 16 for patches of 5 in a picture of 8x8, got 17"):
        similar(picture, patch=5, count=17, stride=2)
