"""A new inverse problem is one operator: with `A` and `A_adjoint` alone it is fitted through tasks/inverse.py."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import staf
from staf.kinds import Grid, Image
from staf.operators import AreaDownsampling, LinearOperator, Mask, PhotonNoise
from staf.tasks import InverseProblem, Oracle, SuperResolution
from staf.training import Task
from tests.tasks.pictures import scene


class Projections:
    """The toy operator: sums of an image along its rows and along its columns, as a tomograph at two angles."""

    def __init__(self, height: int, width: int) -> None:
        self.input_shape, self.output_shape = (height, width), (height + width,)

    def A(self, x: Tensor) -> Tensor:
        return torch.cat([x.sum(-1), x.sum(-2)], dim=-1)

    def A_adjoint(self, y: Tensor) -> Tensor:
        height = self.input_shape[0]
        return y[..., :height, None] + y[..., None, height:]


def separable() -> Image:
    """A picture that its projections determine: a sum of a function of the row and one of the column."""
    y, x = np.mgrid[0:16, 0:20] / 16
    return Image(((0.5 + 0.2 * np.sin(4 * y) + 0.2 * np.cos(5 * x)) * 255).astype(np.uint8))


def field(outputs: int = 1, inputs: int = 2):
    return staf.siren(inputs, outputs, width=48, depth=2, omega0=8.0, generator=torch.Generator().manual_seed(0))


def test_a_new_operator_alone_makes_a_problem_that_is_solved():
    truth = separable()
    operator = Projections(*truth.shape)
    assert isinstance(operator, LinearOperator)
    task = InverseProblem.observing(truth, operator)
    assert isinstance(task, Task)
    torch.testing.assert_close(task.observation[0], operator.A(truth.values().reshape(1, *truth.shape))[0])
    fit = staf.fit(task, field(), steps=300, progress=False)
    assert fit.reconstruction.shape == truth.shape
    assert fit.metrics["psnr"] > 18
    seen = operator.A(fit.field.predict(truth.coordinates()).T.reshape(1, *truth.shape))
    assert (seen - task.observation).abs().max() < 0.1, "16 to 20 pixels add up to each observation"


def test_its_loss_is_the_squared_error_of_the_observation():
    truth, network = separable(), field()
    operator = Projections(*truth.shape)
    task = InverseProblem.observing(truth, operator)
    drawn = network(truth.coordinates()).T.reshape(1, *truth.shape)
    expected = (operator.A(drawn) - operator.A(truth.values().T.reshape(1, *truth.shape))).square().mean()
    torch.testing.assert_close(task.loss(network, task.batch(None)), expected)
    assert task.points == 1, "an operator that mixes all samples cannot be split"


def test_values_with_an_offset_are_observed_in_their_own_units():
    array = np.random.default_rng(0).normal(100, 5, (6, 8)).astype(np.float32)
    truth = Grid(array)
    operator = Projections(6, 8)
    observation = operator.A(torch.from_numpy(array)[None])
    task = InverseProblem(truth.empty(), operator, observation)
    perfect = task.transform.fitted(truth.values())
    at = {tuple(x): y for x, y in zip(truth.coordinates().tolist(), perfect, strict=True)}
    measures = task.evaluate(lambda points: torch.stack([at[tuple(x)] for x in points.tolist()]))
    assert measures["psnr"] > 80


def test_missing_pixels_are_filled_in_without_seeing_them():
    truth = scene()
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(truth.shape, generator=generator) < 0.5
    task = InverseProblem.observing(truth, Mask(mask))
    assert task.points == int(mask.sum())
    batch = task.batch(None)
    flat = mask.flatten().nonzero().squeeze(1)
    assert torch.equal(batch.coordinates[0], truth.coordinates(index=flat))
    assert torch.equal(batch.target, truth.values()[flat])
    fit = staf.fit(task, field(3), recipe=staf.recipes.default(steps=300, batch=128), progress=False)
    filled = fit.reconstruction.values()[~mask.flatten()]
    error = (filled - truth.values()[~mask.flatten()]).square().mean()
    assert -10 * float(error.log10()) > 18
    assert fit.field.metadata["operator"] == "Mask"
    assert not hasattr(task.observed, "array"), "a plan sees the grid and no pixel of the truth"


def test_a_mask_without_the_truth_is_measured_on_what_is_seen():
    truth = scene()
    mask = torch.ones(truth.shape, dtype=torch.bool)
    mask[5:9] = False
    observation = Mask(mask).A(truth.values().T.reshape(3, *truth.shape))
    task = InverseProblem(truth.empty(), Mask(mask), observation)
    with pytest.raises(ValueError, match="an oracle needs the truth"):
        Oracle(task)
    assert task.evaluate(lambda x: torch.full((len(x), 3), 0.5))["psnr"] == pytest.approx(
        -10 * float((observation - 0.5).double().square().mean().log10()), abs=1e-3
    )


def test_super_resolution_is_the_area_mean_of_a_finer_grid():
    task = SuperResolution.simulated(scene(), 4, samples=2)
    assert isinstance(task, InverseProblem)
    assert isinstance(task.operator, AreaDownsampling)
    assert (task.operator.input_shape, task.operator.output_shape) == ((12, 16), (6, 8))


def test_noise_needs_a_generator_and_is_seeded():
    truth = scene()
    operator = AreaDownsampling(truth.shape, 2)
    with pytest.raises(ValueError, match="generator must be given"):
        InverseProblem.observing(truth, operator, noise=PhotonNoise(10))
    first, again = (
        InverseProblem.observing(truth, operator, noise=PhotonNoise(10), generator=torch.Generator().manual_seed(3))
        for _ in range(2)
    )
    assert torch.equal(first.target, again.target)
    assert not torch.equal(first.target, InverseProblem.observing(truth, operator).target)


def test_mistakes_are_named():
    truth = scene()
    with pytest.raises(ValueError, match="operator must act on grids of 2 axes"):
        InverseProblem(truth, AreaDownsampling((8,), 2), torch.zeros(3, 4))
    with pytest.raises(ValueError, match=r"observation must have shape \(3, 12, 16\), got \(3, 4\)"):
        InverseProblem(truth, AreaDownsampling(truth.shape, 2), torch.zeros(3, 4))
    with pytest.raises(ValueError, match="truth must be on the signal's grid"):
        InverseProblem(truth, AreaDownsampling(truth.shape, 2), torch.zeros(3, 12, 16), truth=scene(8, 8))


def test_a_volume_has_inverse_problems_too():
    volume = Grid(np.random.default_rng(0).random((6, 6, 20), np.float32))
    task = InverseProblem.observing(volume, AreaDownsampling(volume.shape, 2))
    assert task.batch(torch.tensor([0, 5])).coordinates.shape == (8, 2, 3)
    fit = staf.fit(task, field(inputs=3), steps=2, progress=False)
    assert fit.reconstruction.shape == volume.shape
