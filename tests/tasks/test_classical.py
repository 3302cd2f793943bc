from __future__ import annotations

import numpy as np
import PIL.Image
import pytest
import torch

from staf.operators import PhotonNoise
from staf.tasks import Denoising
from staf.tasks.classical import bicubic, denoised, lanczos, measured, oracle_denoised
from tests.tasks.pictures import scene


@pytest.mark.parametrize(("up", "name"), [(bicubic, "BICUBIC"), (lanczos, "LANCZOS")])
@pytest.mark.parametrize("factor", [2, 3, 4])
def test_upscalers_are_pillows(up, name, factor):
    image = torch.rand(2, 9, 14, generator=torch.Generator().manual_seed(0))
    filter = getattr(PIL.Image.Resampling, name)
    size = (14 * factor, 9 * factor)
    expected = [np.asarray(PIL.Image.fromarray(plane.numpy()).resize(size, filter)) for plane in image]
    np.testing.assert_allclose(up(image, factor).numpy(), np.stack(expected), atol=2e-6)


def test_denoisers_improve_on_the_noise_and_their_strength_is_chosen_without_the_truth():
    generator = torch.Generator().manual_seed(0)
    task = Denoising.simulated(scene(48, 48), PhotonNoise(30), generator=generator, held_out=0.1)
    before = measured(task, task.target.clamp(0, 1))["psnr"]
    without, oracle = denoised(task), oracle_denoised(task)
    assert list(without) == ["total variation", "non-local means", "patch groups"]
    assert measured(task, without.pop("patch groups"))["psnr"] > before + 3
    for name, restored in without.items():
        psnr = measured(task, restored)["psnr"]
        assert psnr > before + 3, name
        best = measured(task, oracle[name])["psnr"]
        assert psnr <= best + 1e-6
        assert psnr > best - 2
    truth, task.truth = task.truth, None
    again = denoised(task, list(without))
    assert all(torch.equal(again[name], without[name]) for name in without)
    assert truth is not None
