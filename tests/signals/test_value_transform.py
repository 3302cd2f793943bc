from __future__ import annotations

import numpy as np
import torch

from staf.kinds import Audio, Image
from staf.signals.value_transform import value_transform
from staf.tasks import Reconstruction


def test_an_image_is_fitted_bit_for_bit_as_its_range_brought_to_one():
    array = np.random.default_rng(0).normal(0.3, 2.0, (5, 4, 3)).astype(np.float32)
    image = Image(array)
    low, high = image.value_range
    transform = value_transform(image)
    assert torch.equal(Reconstruction(image).target, (image.values() - low) / (high - low))
    fitted = torch.rand(7, 3)
    assert torch.equal(transform.values(fitted), low + (high - low) * fitted)
    assert (transform.low, transform.high) == (0.0, 1.0)


def test_audio_is_fitted_around_zero_with_peak_one():
    audio = Audio(np.array([[0.1, -0.4], [0.0, 0.2]], np.float32), 100)
    task = Reconstruction(audio)
    assert task.target.abs().max() == 1
    torch.testing.assert_close(task.target, audio.values() / audio.peak)
    measured = task.evaluate(lambda x: torch.zeros(len(x), 2))["psnr"]
    mse = (audio.array / audio.peak).astype(np.float64) ** 2
    assert abs(measured + 10 * np.log10(mse.mean())) < 1e-5


def test_outputs_beyond_the_range_are_clamped_before_they_are_measured():
    audio = Audio(np.array([0.5, -0.5], np.float32), 100)
    assert Reconstruction(audio).evaluate(lambda x: -9 * x.sign())["psnr"] == np.inf
