from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Image
from staf.operators import AreaDownsampling
from staf.signals.grid import coordinates
from staf.tasks import Oracle, SuperResolution
from staf.tasks.classical import measured, upscaled
from staf.training.recipe import Recipe
from staf.training.trainer import train
from tests.tasks.pictures import scene


def curve(x: torch.Tensor) -> torch.Tensor:
    return (0.5 + 0.4 * torch.sin(3 * x[:, :1]) * x[:, 1:]).expand(-1, 3)


def test_the_observation_is_the_area_mean():
    truth = scene()
    task = SuperResolution.simulated(truth, 4)
    blocks = truth.array.reshape(6, 4, 8, 4, 3).astype(np.float64).mean((1, 3)) / 255
    np.testing.assert_allclose(task.observation.movedim(0, -1).numpy(), blocks, atol=1e-6)


@pytest.mark.parametrize("convention", ["centres", "ends"])
def test_one_sample_a_pixel_is_its_own_grid(convention):
    task = SuperResolution.simulated(scene(), 4, convention=convention)
    assert torch.equal(task.batch(None).coordinates[0], coordinates((6, 8), convention))


@pytest.mark.parametrize("convention", ["centres", "ends"])
@pytest.mark.parametrize("samples", [2, 4])
def test_training_through_the_operator_is_the_operator_on_the_finer_grid(samples, convention):
    task = SuperResolution.simulated(scene(), 4, samples=samples, convention=convention)
    fine = (6 * samples, 8 * samples)
    values = curve(coordinates(fine, convention)).T.reshape(3, *fine)
    expected = AreaDownsampling(fine, samples).A(values).flatten(1).T
    loss = (expected - task.target).square().mean()
    torch.testing.assert_close(task.loss(curve, task.batch(None)), loss)
    index = torch.tensor([3, 17, 40])
    part = task.batch(index)
    torch.testing.assert_close(task.loss(curve, part), (expected - task.target)[index].square().mean())
    assert torch.equal(part.coordinates, task.batch(None).coordinates[:, index])


def test_a_field_is_measured_on_the_full_grid():
    truth = scene()
    task = SuperResolution.simulated(truth, 4)
    prediction = curve(coordinates(truth.shape)).clamp(0, 1)
    measures = task.evaluate(curve)
    mse = (prediction - truth.values()).double().square().mean().item()
    assert abs(measures["psnr"] + 10 * np.log10(mse)) < 1e-4
    assert 0 < measures["ssim"] < 1
    assert abs(task.psnr(curve) - measures["psnr"]) < 1e-4


def test_an_image_without_truth_is_upscaled():
    low = scene(6, 8)
    task = SuperResolution(low, 3, samples=3)
    with pytest.raises(ValueError, match="an oracle needs the truth"):
        Oracle(task)
    field = staf.siren(2, 3, width=24, depth=2, generator=torch.Generator().manual_seed(0))
    fit = staf.fit(task, field, steps=400, progress=False)
    assert fit.reconstruction.shape == (18, 24)
    assert fit.reconstruction.dtype == np.uint8
    fine = fit.field.predict(coordinates((18, 24))).T.reshape(3, 18, 24)
    seen = AreaDownsampling((18, 24), 3).A(fine).flatten(1).T.clamp(0, 1)
    mse = (seen - low.values()).double().square().mean().item()
    assert abs(fit.metrics["psnr"] + 10 * np.log10(mse)) < 1e-3
    assert fit.metrics["psnr"] > 25


def test_the_oracle_only_looks(tmp_path):
    truth = scene()
    task = SuperResolution.simulated(truth, 4)
    generator = torch.Generator().manual_seed(0)
    field = staf.siren(2, 3, width=24, depth=2, generator=generator)
    oracle = Oracle(task, every=5)
    fit = staf.fit(task, field, steps=61, progress=False, callbacks=[oracle])
    assert [step for step, _ in oracle.seen] == [*range(5, 61, 5), 61]
    assert oracle.psnr == max(psnr for _, psnr in oracle.seen)
    assert abs(oracle.seen[-1][1] - fit.metrics["psnr"]) < 1e-4
    fit.save(tmp_path / "f.safetensors")
    assert staf.load(tmp_path / "f.safetensors").render().shape == truth.shape


def test_classical_upscalers_are_measured_alike():
    task = SuperResolution.simulated(scene(48, 64), 4)
    measures = {name: measured(task, restored) for name, restored in upscaled(task).items()}
    nearest = task.observation.repeat_interleave(4, 1).repeat_interleave(4, 2).flatten(1).T
    for name in ("bicubic", "Lanczos"):
        assert measures[name]["psnr"] > measured(task, nearest)["psnr"] + 1


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="factor must divide every side"):
        SuperResolution.simulated(scene(25, 32), 4)
    with pytest.raises(ValueError, match="samples must be a whole number"):
        SuperResolution(scene(), 2, samples=0)
    with pytest.raises(ValueError, match="factor must be a whole number"):
        SuperResolution(scene(), 0)
    with pytest.raises(ValueError, match="truth must be 48x64 with 3 channels"):
        SuperResolution(scene(), 2, truth=scene(48, 63))


def test_float_images_keep_their_range():
    truth = Image(scene().array.astype(np.float32) * 4)
    task = SuperResolution.simulated(truth, 4)
    assert task.target.min() >= 0
    assert task.target.max() <= 1
    fine = coordinates(truth.shape)
    drawn = truth.render(lambda x: task.transform.values(curve(x)))
    torch.testing.assert_close(drawn.values(), task.transform.values(curve(fine)), rtol=1e-5, atol=1e-3)


def test_several_are_fitted_together_as_each_is_alone():
    tasks = [SuperResolution.simulated(scene(*size), 4, samples=2) for size in ((16, 16), (8, 16))]
    recipe = Recipe(steps=3)

    def fields():
        return [staf.siren(2, 3, width=8, depth=2, generator=torch.Generator().manual_seed(0)) for _ in tasks]

    together = train(tasks, fields(), recipe, progress=False)
    for task, field, result in zip(tasks, fields(), together, strict=True):
        (alone,) = train([task], [field], recipe, progress=False)
        assert result.history.loss == pytest.approx(alone.history.loss, rel=1e-4)
        assert result.metrics["psnr"] == pytest.approx(alone.metrics["psnr"], abs=1e-3)
