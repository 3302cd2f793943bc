from __future__ import annotations

import numpy as np
import torch

from staf.kinds import Image
from staf.tasks import SuperResolution
from staf.tasks.classical import measured, upscaled
from staf.tasks.non_local import sharpened
from staf.tasks.returned import best_upscaler, helps, returned_upscaling


def stripes(size: int) -> Image:
    """Soft edges in one direction, which repeat: what similar patches are for."""
    y, x = np.mgrid[0:size, 0:size]
    return Image((127 + 100 * np.tanh(3 * np.sin((x + 0.5 * y) / 5))).astype(np.uint8))


def test_similar_patches_sharpen_edges_and_keep_area_means():
    task = SuperResolution.simulated(stripes(48), 4)
    start = task.transform.fitted(upscaled(task)["Lanczos"]).T.reshape(1, 48, 48)
    sharp = sharpened(start, task.observation, 4)
    better, before = (measured(task, of.flatten(1).T)["psnr"] for of in (sharp.clamp(0, 1), start))
    assert better > before + 0.5
    means = sharp.reshape(1, 12, 4, 12, 4).mean((2, 4))
    torch.testing.assert_close(means, task.observation, atol=1e-5, rtol=0)


def test_whether_they_help_is_told_by_the_observation_alone():
    task = SuperResolution.simulated(stripes(64), 2)
    assert helps(task, best_upscaler(task), sharpened)
    y, x = np.mgrid[0:64, 0:64]
    smooth = Image((127 + 60 * np.sin(x / 12) + 40 * np.cos(y / 14 + x / 24)).astype(np.uint8))
    task = SuperResolution.simulated(smooth, 2)
    task.truth = None
    assert not helps(task, best_upscaler(task), sharpened)
    assert not helps(SuperResolution.simulated(stripes(48), 4), "Lanczos", sharpened), "too few observed pixels"


def test_what_is_returned_is_sharpened_where_no_network_is_for_its_factor(monkeypatch):
    monkeypatch.setattr("staf.tasks.returned.FACTORS", ())
    task = SuperResolution.simulated(stripes(64), 2, held_out=0.05, generator=torch.Generator().manual_seed(0))
    choice = returned_upscaling(task, lambda points: 0.5 + 0 * points[:, :1])
    assert choice.method.endswith(", sharpened")
    assert not choice.fitted
    assert "similar patches" in choice.told()
    assert measured(task, choice.values)["psnr"] > measured(task, upscaled(task)["Lanczos"])["psnr"] + 0.3
