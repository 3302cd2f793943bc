from __future__ import annotations

import math
import sys

import pytest
import torch
from skimage.metrics import structural_similarity
from torchmetrics.functional.image import structural_similarity_index_measure

from staf.kinds import sample_photo
from staf.metrics import ssim


def noisy_photo(name, generator, noise=0.1):
    photo = sample_photo(name)
    target = photo.values().reshape(*photo.shape, photo.out_features)[100:221, 60:197]
    return (target + noise * torch.randn(target.shape, generator=generator)).clamp(0, 1), target


@pytest.mark.parametrize("name", ["astronaut", "camera"])
@pytest.mark.parametrize("peak", [1.0, 255.0])
def test_agrees_with_scikit_image(name, peak, generator):
    prediction, target = (image * peak for image in noisy_photo(name, generator))
    expected = structural_similarity(target.numpy(), prediction.numpy(), data_range=peak, channel_axis=2,
                                     gaussian_weights=True, sigma=1.5, use_sample_covariance=False)  # fmt: skip
    assert float(ssim(prediction, target, data_range=peak)) == pytest.approx(expected, abs=2e-5)


def test_agrees_with_torchmetrics_where_the_window_fits(generator):
    prediction, target = noisy_photo("astronaut", generator)
    images = (image.permute(2, 0, 1)[None] for image in (prediction, target))
    _, positions = structural_similarity_index_measure(*images, data_range=1.0, return_full_image=True)
    expected = positions[..., 5:-5, 5:-5].mean()
    assert float(ssim(prediction, target, data_range=1.0)) == pytest.approx(float(expected), abs=2e-5)


def test_predictions_are_clamped_and_ranges_shift(generator):
    prediction, target = noisy_photo("camera", generator)
    wild = prediction.clone()
    wild[prediction == 1] = 7.0
    assert ssim(wild, target, data_range=1.0) == ssim(prediction, target, data_range=1.0)
    shifted = ssim(2 * prediction - 1, 2 * target - 1, data_range=(-1.0, 1.0))
    assert float(shifted) == pytest.approx(float(ssim(prediction, target, data_range=1.0)), abs=1e-6)


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 40, 1), (40, 2, 3), (10, 10, 4), (11, 11, 1)])
def test_small_images_have_a_value(shape, generator):
    image = torch.rand(shape, generator=generator)
    assert float(ssim(image, image, data_range=1.0)) == pytest.approx(1.0)
    assert -1 <= float(ssim(1 - image, image, data_range=1.0)) < 1


def test_one_pixel_is_its_luminance_term():
    x, y, c = 0.2, 0.9, 0.01**2
    measured = ssim(torch.full((1, 1, 1), x), torch.full((1, 1, 1), y), data_range=1.0)
    assert float(measured) == pytest.approx((2 * x * y + c) / (x * x + y * y + c), abs=1e-6)


def test_even_and_short_sides_shrink_the_window_to_what_fits(generator):
    """A 3x3 window on a 4x4 image, computed by hand at its four positions."""
    prediction, target = torch.rand(2, 4, 4, 1, generator=generator, dtype=torch.float64)
    line = [math.exp(-1 / 4.5), 1.0, math.exp(-1 / 4.5)]
    weights = torch.tensor([[a * b for a in line] for b in line], dtype=torch.float64)
    weights /= weights.sum()
    total = 0.0
    for i in (0, 1):
        for j in (0, 1):
            x, y = (image[i : i + 3, j : j + 3, 0] for image in (prediction, target))
            mx, my = (weights * x).sum(), (weights * y).sum()
            vx, vy, cov = ((weights * (p - m) * (q - n)).sum() for p, m, q, n in ((x, mx, x, mx), (y, my, y, my),
                                                                                 (x, mx, y, my)))  # fmt: skip
            total += ((2 * mx * my + 1e-4) * (2 * cov + 9e-4)) / ((mx**2 + my**2 + 1e-4) * (vx + vy + 9e-4)) / 4
    assert float(ssim(prediction, target, data_range=1.0)) == pytest.approx(float(total), abs=1e-12)


def test_flat_images_are_equal_only_to_themselves():
    flat = torch.full((20, 20, 1), 0.5)
    assert float(ssim(flat, flat, data_range=1.0)) == pytest.approx(1.0, abs=1e-9)
    assert float(ssim(flat * 0.5, flat, data_range=1.0)) < 0.9


def test_gradients_are_finite(generator):
    prediction, target = torch.rand(2, 16, 16, 1, generator=generator)
    prediction.requires_grad_()
    ssim(prediction, target, data_range=1.0).backward()
    assert torch.isfinite(prediction.grad).all()
    assert prediction.grad.abs().sum() > 0


def test_empty_images_are_refused():
    with pytest.raises(ValueError, match="not be empty"):
        ssim(torch.zeros(0, 4, 3), torch.zeros(0, 4, 3), data_range=1.0)


@pytest.mark.parametrize("band", [1, 7, 1000])
def test_bands_change_nothing(band, generator, monkeypatch):
    prediction, target = noisy_photo("astronaut", generator)
    whole = ssim(prediction, target, data_range=1.0)
    monkeypatch.setattr(sys.modules["staf.metrics.ssim"], "BAND", band)
    assert float(ssim(prediction, target, data_range=1.0)) == pytest.approx(float(whole), abs=1e-12)
