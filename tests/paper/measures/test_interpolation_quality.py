from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import staf
from paper.measures.interpolation_quality import interpolation_quality
from staf.training import Recipe


class Wave(torch.nn.Module):
    """A smooth field, or the same at the pixels with noise between them."""

    def __init__(self, pixels: int, noise: float) -> None:
        super().__init__()
        self.pixels, self.noise = pixels, noise
        self.gain = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        smooth = 0.5 + 0.3 * torch.sin(2 * x[:, :1]) * torch.cos(x[:, 1:])
        # Zero at the centres of the pixels.
        return self.gain * (smooth + self.noise * torch.cos(torch.pi * self.pixels * (x[:, :1] + 1) / 2))


@pytest.mark.parametrize("convention", ["centres", "ends"])
def test_noise_between_the_pixels_is_seen_and_a_smooth_field_is_not_blamed(convention):
    from staf.signals.grid import coordinates

    pixels = 16
    with torch.no_grad():
        values = Wave(pixels, 0.0)(coordinates((pixels, pixels), convention)).reshape(pixels, pixels)
    image = staf.Image(values.numpy().astype(np.float32))

    def measured(noise):
        fit = staf.fit(image, Wave(pixels, noise), Recipe(steps=1, rate=1e-9, convention=convention), progress=False)
        return interpolation_quality(fit)["interpolation_psnr"]

    assert measured(0.0) > 40
    assert measured(0.2) < 20


def test_a_large_image_is_measured_at_all_of_its_pixels():
    from staf.kinds.image.large.task import SEEN_SIDE, LargeReconstruction
    from staf.training import run

    picture = np.random.default_rng(0).integers(0, 256, (2, SEEN_SIDE + 2, 3), dtype=np.uint8)
    task = LargeReconstruction(staf.Image(picture))
    field = staf.siren(2, 3, width=8)
    large = run(task, field, Recipe(steps=1, rate=1e-9), progress=False)
    usual = staf.fit(staf.Image(picture), field, Recipe(steps=1, rate=1e-9), progress=False)
    found = interpolation_quality(SimpleNamespace(task=task, module=large.field))
    assert found["interpolation_psnr"] == pytest.approx(interpolation_quality(usual)["interpolation_psnr"], abs=1e-3)


def test_a_recording_has_no_pixels():
    sound = staf.Audio(np.sin(np.arange(200) / 7).astype(np.float32), 8000)
    fit = staf.fit(sound, staf.siren(1, 1, width=8), Recipe(steps=1), progress=False)
    assert interpolation_quality(fit) == {}


@pytest.mark.gpu
def test_a_fit_on_a_gpu_is_measured_there():
    picture = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    fit = staf.fit(staf.Image(picture), steps=2, device="cuda", progress=False)
    here = interpolation_quality(fit)["interpolation_psnr"]
    fit.task.to("cpu")
    fit.to("cpu")
    assert interpolation_quality(fit)["interpolation_psnr"] == pytest.approx(here, abs=0.05)
