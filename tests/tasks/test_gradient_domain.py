from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Image
from staf.operators import Gradient, Laplacian
from staf.tasks.classical import measured
from staf.tasks.gradient_domain import GradientDomain, SeamlessCloning, touching
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.poisson import least_squares
from tests.tasks.pictures import scene


@pytest.mark.parametrize("operator", [Gradient, Laplacian])
def test_least_squares_brings_a_picture_back_from_its_differences(operator):
    truth = scene()
    task = GradientDomain.of(truth, operator(truth.shape))
    (name, found), *others = inverse_candidates(task).items()
    assert name == "least squares"
    assert not others
    assert measured(task, found.values)["psnr"] > 60


def test_a_field_is_fitted_to_gradients_alone():
    truth = scene()
    task = GradientDomain.of(truth, Gradient(truth.shape))
    field = staf.siren(2, 3, width=32, depth=2, omega0=10.0, generator=torch.Generator().manual_seed(0))
    fit = staf.fit(task, field=field, steps=80, progress=False)
    assert fit.metrics["psnr"] > 22
    torch.testing.assert_close(task.predict(fit.module).mean(0), truth.values().mean(0), atol=0.02, rtol=0)


def test_what_is_cloned_has_no_seam():
    """A source that is the target darkened: its gradients at the target's border bring the target itself back."""
    y, x = np.mgrid[0:20, 0:20] / 20
    bright = 140 + 60 * np.sin(5 * x + 3 * y)
    target, source = Image(bright.astype(np.uint8)), Image((bright - 80).astype(np.uint8))
    inside = torch.zeros(20, 20, dtype=torch.bool)
    inside[5:15, 4:13] = True
    task = SeamlessCloning(target, source, inside, held_out=0.05, generator=torch.Generator().manual_seed(0))
    found = inverse_candidates(task)["least squares"].values
    assert float((found - target.values()).abs().max()) < 0.01
    # A field that is right inside alone has no error.
    at = {tuple(point): value for point, value in zip(target.coordinates().tolist(), target.values(), strict=True)}
    known = task.observed_by(lambda points: torch.stack([at[tuple(point)] for point in points.tolist()]))
    torch.testing.assert_close(known, task.observation, atol=0.01, rtol=0)
    assert torch.equal(
        task.predict(lambda points: 0 * points[:, :1])[~inside.flatten()], target.values()[~inside.flatten()]
    )


def test_mixed_gradients_keep_the_stronger():
    stripes = (np.indices((12, 12)).sum(0) % 2 * 100 + 50).astype(np.uint8)
    target, flat = Image(stripes), Image(np.full((12, 12), 90, np.uint8))
    inside = torch.zeros(12, 12, dtype=torch.bool)
    inside[3:9, 3:9] = True
    kept = inverse_candidates(SeamlessCloning(target, flat, inside, mixed=True))["least squares"].values
    gone = inverse_candidates(SeamlessCloning(target, flat, inside))["least squares"].values
    assert float((kept - target.values()).abs().max()) < 0.01
    assert float(gone.reshape(12, 12)[5:7, 5:7].std()) < 0.05


def test_held_out_differences_have_no_part_in_it():
    slope = Gradient((6, 6))
    picture = torch.rand(1, 6, 6, generator=torch.Generator().manual_seed(0))
    observation = slope.A(picture)
    seen = torch.ones(slope.output_shape, dtype=torch.bool)
    seen[0, 2, 3] = False
    wrong = observation.clone()
    wrong[0, 0, 2, 3] = 99.0
    torch.testing.assert_close(least_squares(slope, wrong, seen), least_squares(slope, observation, seen))


def test_mistakes_are_named():
    target = scene()
    with pytest.raises(ValueError, match="means must hold 3 numbers"):
        GradientDomain(target, Gradient(target.shape), torch.zeros(3, 2, *target.shape), means=[0.5])
    with pytest.raises(ValueError, match="source must have the target's shape"):
        SeamlessCloning(target, scene(8, 8), touching(torch.ones(target.shape, dtype=torch.bool))[0])
    with pytest.raises(ValueError, match="inside must be true for some"):
        SeamlessCloning(target, target, torch.ones(target.shape, dtype=torch.bool))
