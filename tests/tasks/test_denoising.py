from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.operators import PhotonNoise
from staf.tasks import Denoising, KeepBestHeldOut, Oracle
from tests.tasks.pictures import scene


def noisy(held_out: float = 0.1, seed: int = 0, **options) -> Denoising:
    generator = torch.Generator().manual_seed(seed)
    return Denoising.simulated(scene(**options), PhotonNoise(10, 2), generator=generator, held_out=held_out)


def test_the_observation_is_noisy_unclipped_and_seeded():
    task, again, other = noisy(), noisy(), noisy(seed=1)
    assert torch.equal(task.target, again.target)
    assert torch.equal(task.train_index, again.train_index)
    assert not torch.equal(task.target, other.target)
    error = task.target - task.truth.values()
    assert abs(error.mean()) < 0.03
    assert abs(error.var() - PhotonNoise(10, 2).variance(task.truth.values()).mean()) < 0.01
    assert task.target.max() > 1
    assert task.target.min() < 0


def test_training_never_sees_what_is_held_out():
    task = noisy(0.25)
    assert len(task.held_out_index) == round(0.25 * 24 * 32)
    together = torch.cat([task.held_out_index, task.train_index]).sort().values
    assert torch.equal(together, torch.arange(24 * 32))
    batch = task.batch(None)
    assert task.points == len(batch.target) == len(task.train_index)
    assert torch.equal(batch.target, task.target[task.train_index])
    poisoned = noisy(0.25)
    poisoned.target[poisoned.held_out_index] = float("nan")
    assert poisoned.loss(lambda x: torch.zeros(len(x), 3), poisoned.batch(None)).isfinite()


def test_the_held_out_error_estimates_the_clean_error():
    task = noisy(0.5, height=96, width=96)
    guess = task.truth.values() + 0.1
    by_point = {tuple(x): y for x, y in zip(task.coordinates.tolist(), guess, strict=True)}
    estimate = task.held_out_error(lambda x: torch.stack([by_point[tuple(p)] for p in x.tolist()]))
    variance = PhotonNoise(10, 2).variance(task.truth.values()).mean().item()
    clean = (guess.clamp(0, 1) - task.truth.values()).square().mean().item()
    assert abs(estimate - variance - clean) < 0.15 * (variance + clean)


def test_held_out_pixels_stop_before_the_noise_is_fitted():
    task = noisy(0.15)

    def field():
        return staf.siren(2, 3, width=48, depth=3, omega0=30.0, generator=torch.Generator().manual_seed(0))

    keep, oracle = KeepBestHeldOut(task, every=5), Oracle(task, every=5)
    kept = staf.fit(task, field(), steps=150, progress=False, callbacks=[keep, oracle])
    last = staf.fit(task, field(), steps=150, progress=False)
    assert keep.best_step < 150
    assert kept.metrics["psnr"] > last.metrics["psnr"] + 1
    assert kept.metrics["psnr"] <= oracle.psnr + 1e-4
    assert dict(oracle.seen)[keep.best_step] == pytest.approx(kept.metrics["psnr"], abs=1e-3)
    assert f"the weights of step {keep.best_step} are kept" in kept.notes[-1]
    assert keep.best == pytest.approx(task.held_out_error(kept.module))


def test_patience_ends_the_fit():
    task = noisy(0.15)
    field = staf.siren(2, 3, width=48, depth=3, generator=torch.Generator().manual_seed(0))
    keep = KeepBestHeldOut(task, every=5, patience=20)
    fit = staf.fit(task, field, steps=1000, progress=False, callbacks=[keep])
    assert fit.result.steps < 500
    assert "have not improved" in fit.stopped


def test_a_photo_that_is_noisy_by_itself():
    task = Denoising(scene(), generator=torch.Generator().manual_seed(0))
    measures = task.evaluate(lambda x: torch.full((len(x), 3), 0.5))
    mse = (scene().values() - 0.5).double().square().mean().item()
    assert measures == {"psnr": pytest.approx(-10 * np.log10(mse), abs=1e-4)}
    with pytest.raises(ValueError, match="an oracle needs the truth"):
        Oracle(task)


def test_small_pictures_hold_a_sample_out_and_fit_one():
    drawn = {}
    for width in (1, 2, 5):
        task = Denoising(scene(1, width), generator=torch.Generator().manual_seed(0))
        drawn[width] = (len(task.held_out_index), task.points)
    assert drawn == {1: (0, 1), 2: (1, 1), 5: (1, 4)}


def test_mistakes_are_named():
    generator = torch.Generator()
    with pytest.raises(ValueError, match=r"held_out must be a share of the observations in \[0, 1\), got 1"):
        Denoising(scene(), generator=generator, held_out=1)
    with pytest.raises(ValueError, match="truth must have the observed 24x32 pixels"):
        Denoising(scene(), generator=generator, truth=scene(8, 8))
    task = Denoising(scene(), generator=generator, held_out=0)
    with pytest.raises(ValueError, match="held_out must be positive"):
        task.held_out_error(lambda x: x)
    with pytest.raises(ValueError, match="every must be at least 1"):
        KeepBestHeldOut(task, every=0)
