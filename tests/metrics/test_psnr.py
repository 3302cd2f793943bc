from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.metrics import peak_signal_noise_ratio

from staf.metrics import psnr


@pytest.mark.parametrize("peak", [1.0, 255.0, 3])
@pytest.mark.parametrize("shape", [(7,), (40, 3), (16, 17, 3)])
def test_agrees_with_scikit_image(shape, peak, generator):
    target = torch.rand(shape, generator=generator) * peak
    prediction = (target + 0.05 * peak * torch.randn(shape, generator=generator)).clamp(0, peak)
    expected = peak_signal_noise_ratio(target.numpy(), prediction.numpy(), data_range=peak)
    assert float(psnr(prediction, target, data_range=peak)) == pytest.approx(expected, abs=1e-4)


@settings(deadline=None)
@given(st.floats(1e-4, 0.5), st.floats(0.1, 100))
def test_a_constant_error_has_its_decibels_at_every_scale(error, peak):
    target = torch.full((10,), 0.25 * peak, dtype=torch.float64)
    measured = psnr(target + error * peak, target, data_range=peak)
    assert float(measured) == pytest.approx(-20 * math.log10(error), abs=1e-6)


def test_predictions_are_clamped_and_targets_are_not():
    assert psnr(torch.tensor([1.5, -2.0]), torch.tensor([1.0, 0.0]), data_range=1.0) == math.inf
    assert float(psnr(torch.tensor([1.5]), torch.tensor([2.0]), data_range=1.0)) == pytest.approx(0.0)


def test_a_pair_is_a_range():
    target = torch.tensor([-1.0, 1.0])
    assert float(psnr(target * 0.5, target, data_range=(-1.0, 1.0))) == pytest.approx(20 * math.log10(2 / 0.5))
    assert psnr(target * 3, target, data_range=(-1.0, 1.0)) == math.inf


def test_small_errors_on_many_points_are_not_lost():
    target = torch.full((3_000_000,), 0.5)
    prediction = target + 2**-20
    assert float(psnr(prediction, target, data_range=1.0)) == pytest.approx(20 * math.log10(2**20), abs=1e-6)


def test_a_diverged_prediction_scores_nan():
    assert np.isnan(float(psnr(torch.tensor([float("nan"), 0.0]), torch.zeros(2), data_range=1.0)))


@pytest.mark.parametrize("data_range", [0.0, -1.0, float("nan"), float("inf"), (1.0, 1.0), (2.0, 1.0)])
def test_bad_ranges_are_refused(data_range):
    with pytest.raises(ValueError, match="data_range must be a positive peak or an increasing pair"):
        psnr(torch.zeros(2), torch.zeros(2), data_range=data_range)


def test_the_range_has_no_default():
    with pytest.raises(TypeError, match="data_range"):
        psnr(torch.zeros(2), torch.zeros(2))


def test_empty_tensors_are_refused():
    with pytest.raises(ValueError, match="at least one value"):
        psnr(torch.zeros(0, 3), torch.zeros(0, 3), data_range=1.0)
