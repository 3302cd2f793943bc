"""A restoration returns a classical result where the fit is not better, chosen without the truth."""

from __future__ import annotations

import torch

from staf.operators import PhotonNoise
from staf.tasks import Denoising, SuperResolution
from staf.tasks.choice import Candidate, choose
from staf.tasks.classical import denoising_candidates, measured, upscaled
from staf.tasks.filling import filled
from staf.tasks.returned import corrected, returned_denoising, returned_upscaling
from tests.tasks.pictures import scene


def looked_up(task, picture):
    """A field that has a picture's values (c, h, w) at the nearest pixel."""

    def predict(points):
        height, width = picture.shape[1:]
        row = ((points[:, 0] + 1) / 2 * height).long().clamp(0, height - 1)
        column = ((points[:, 1] + 1) / 2 * width).long().clamp(0, width - 1)
        return picture[:, row, column].T

    return predict


def test_a_poor_field_is_not_returned_and_a_good_one_is():
    generator = torch.Generator().manual_seed(0)
    task = SuperResolution.simulated(scene(32, 48), 2, samples=2, held_out=0.1, generator=generator)
    truth = task.transform.fitted(task.truth.values()).T.reshape(3, 32, 48)
    classical = max(measured(task, values)["psnr"] for values in upscaled(task).values())
    poor = returned_upscaling(task, looked_up(task, truth.mean((1, 2), keepdim=True).expand_as(truth)), "poor")
    assert not poor.fitted
    assert measured(task, poor.values)["psnr"] >= classical
    good = returned_upscaling(task, looked_up(task, truth), "good")
    assert (good.method, good.fitted) == ("good", True)
    assert measured(task, good.values)["psnr"] > classical + 3


def test_nothing_is_chosen_by_the_truth():
    generator = torch.Generator().manual_seed(0)
    task = Denoising.simulated(scene(24, 24), PhotonNoise(20), generator=generator, held_out=0.1)
    truth = task.transform.fitted(task.truth.values()).T.reshape(3, 24, 24)
    candidates = denoising_candidates(task)
    classical = max(measured(task, candidate.values)["psnr"] for candidate in candidates.values())
    flat = looked_up(task, torch.full_like(truth, 0.5))
    choice = returned_denoising(task, flat, classical=candidates)
    assert not choice.fitted
    assert measured(task, choice.values)["psnr"] >= classical - 0.3
    assert returned_denoising(task, looked_up(task, truth), classical=candidates).fitted
    task.truth = None
    assert torch.equal(returned_denoising(task, flat).values, choice.values)


def test_a_correction_never_moves_away_from_the_truth():
    task = SuperResolution.simulated(scene(16, 24), 4)
    truth = task.transform.fitted(task.truth.values())
    generator = torch.Generator().manual_seed(1)
    for size in (0.01, 0.1, 0.5):
        estimate = truth + size * torch.randn(truth.shape, generator=generator)
        before = (estimate - truth).square().sum()
        after = (corrected(task, estimate.T.reshape(3, 16, 24)) - truth).square().sum()
        assert after < before


def test_a_small_difference_is_not_enough():
    errors = torch.rand(100, generator=torch.Generator().manual_seed(0))
    noisy = errors + 0.01 * torch.where(torch.arange(100) % 2 == 0, 5.0, -5.2)
    rival = {"median": Candidate(torch.zeros(1, 1), errors)}
    assert not choose("staf", Candidate(torch.ones(1, 1), noisy), rival).fitted
    assert choose("staf", Candidate(torch.ones(1, 1), errors - 0.2), rival).fitted
    assert not choose("staf", Candidate(torch.ones(1, 1), errors * torch.nan), rival).fitted


def test_missing_samples_of_a_smooth_picture_are_filled():
    y, x = torch.meshgrid(torch.linspace(0, 1, 20), torch.linspace(0, 1, 30), indexing="ij")
    picture = (torch.sin(3 * x) * y)[None]
    known = torch.rand(20, 30, generator=torch.Generator().manual_seed(0)) < 0.8
    holes = picture.clone()
    holes[:, ~known] = 5.0
    assert (filled(holes, known) - picture).abs().max() < 0.02
