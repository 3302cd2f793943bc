from __future__ import annotations

import numpy as np
import torch

from staf.kinds import Image
from staf.operators import Mask, PhotonNoise
from staf.tasks import Denoising
from staf.tasks.classical import denoising_candidates, measured
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.patch_methods import denoised_by_patches, noise_of
from staf.tasks.picture_restoration import PictureRestoration, random_mask
from staf.tasks.returned import chosen_of, returned_denoising


def textured(size: int = 32) -> Image:
    """Soft edges that repeat, a little different in every channel."""
    y, x = np.mgrid[0:size, 0:size]
    planes = [127 + 90 * np.tanh(2 * np.sin((x + 0.5 * y) / 2.5)) * (0.8 + 0.1 * k) for k in range(3)]
    return Image(np.stack(planes, -1).astype(np.uint8))


def flat(points):
    return points[:, :1].expand(-1, 3) * 0 + 0.5


def test_missing_pixels_of_a_texture_are_filled_better_than_smoothly():
    generator = torch.Generator().manual_seed(0)
    mask = Mask(random_mask((32, 32), 0.3, generator))
    task = PictureRestoration.simulated(textured(), mask, generator=generator, held_out=0.1)
    classical = inverse_candidates(task, ["biharmonic", "patch groups"])
    smooth, grouped = (measured(task, found.values)["psnr"] for found in classical.values())
    assert grouped > smooth + 2
    assert classical["patch groups"].error < classical["biharmonic"].error
    values = classical["patch groups"].values.T.reshape(3, 32, 32)
    torch.testing.assert_close(mask.A(values), task.observation, atol=1e-6, rtol=0)
    task.truth = None
    assert "patch groups" in chosen_of(task, flat, classical, "grey").method


def test_noise_is_taken_out_better_than_by_total_variation():
    generator = torch.Generator().manual_seed(0)
    task = Denoising.simulated(textured(), PhotonNoise(10), generator=generator, held_out=0.1)
    classical = denoising_candidates(task, ["total variation", "patch groups"])
    variation, grouped = (measured(task, found.values)["psnr"] for found in classical.values())
    assert grouped > variation + 1
    task.truth = None
    assert "patch groups" in returned_denoising(task, flat, classical=classical).method


def test_pixels_that_are_not_known_have_no_part_in_denoising():
    picture = textured(24)
    clean = picture.values().T.reshape(3, 24, 24) / 255
    known = torch.ones(24, 24, dtype=torch.bool)
    known[3, 5] = known[20, 11] = False
    other = torch.where(known, clean, 7.0)
    found = denoised_by_patches(clean, known, clean, (0.1, 0.0))
    assert torch.equal(denoised_by_patches(other, known, clean, (0.1, 0.0)), found)


def test_the_noise_is_found():
    generator = torch.Generator().manual_seed(0)
    clean = torch.rand(20000, 1, generator=generator)
    slope, level = noise_of(clean, clean + 0.1 * torch.randn(clean.shape, generator=generator))
    assert slope < 1e-3
    assert abs(level + slope / 2 - 0.01) < 1e-3
    slope, level = noise_of(clean, PhotonNoise(20)(clean, generator))
    assert abs(slope + level - 0.05) < 0.005
    assert noise_of(clean[:5], clean[:5]) == (0.0, 0.0), "few values have one variance"
