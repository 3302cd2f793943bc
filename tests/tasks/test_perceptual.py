"""LPIPS in the loss: its value, its gradient, and that it is worth something."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Image
from staf.metrics import LPIPS
from staf.metrics.lpips import SHAPES
from staf.tasks import PerceptualReconstruction, Reconstruction
from staf.training.stepper import points_at_once


@pytest.fixture(scope="module")
def model() -> LPIPS:
    generator = torch.Generator().manual_seed(0)
    return LPIPS({name: torch.rand(shape, generator=generator) / 20 for name, shape in SHAPES.items()})


def picture(channels: int = 3) -> Image:
    return Image(np.random.default_rng(0).integers(0, 256, (32, 40, channels), np.uint8))


@pytest.mark.parametrize("channels", [1, 3])
def test_the_loss_is_the_error_and_the_distance(model: LPIPS, channels: int) -> None:
    image = picture(channels)
    field = staf.siren(2, channels, width=8, depth=2, generator=torch.Generator().manual_seed(1))
    plain, both = Reconstruction(image), PerceptualReconstruction(image, model, weight=0.25)
    batch = both.batch(None)
    shown = field(batch.coordinates).T.reshape(1, channels, 32, 40).expand(-1, 3, -1, -1)
    target = batch.target.T.reshape(1, channels, 32, 40).expand(-1, 3, -1, -1)
    expected = plain.loss(field, batch) + 0.25 * model(2 * shown - 1, 2 * target - 1)[0]
    torch.testing.assert_close(both.loss(field, batch), expected)
    both.loss(field, batch).backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in field.parameters())


def test_a_fit_with_it_comes_nearer_by_it(model: LPIPS) -> None:
    field = staf.siren(2, 3, width=32, depth=2, generator=torch.Generator().manual_seed(1))
    task = PerceptualReconstruction(picture(), model, 1000.0)

    def distance() -> float:
        shown, target = (
            2 * values.T.reshape(1, 3, 32, 40) - 1
            for values in (field(task.batch(None).coordinates).detach(), task.target)
        )
        return float(model(shown, target))

    before = distance()
    staf.fit(task, field=field, recipe=staf.Recipe(steps=40, rate=2e-3), device="cpu", progress=False)
    assert distance() < before / 2


def test_a_part_of_the_pixels_is_refused(model: LPIPS) -> None:
    task = PerceptualReconstruction(picture(), model, 0.1)
    with pytest.raises(ValueError, match=r"a step must see all 1,280 pixels.*got 10"):
        task.loss(torch.nn.Identity(), task.batch(torch.arange(10)))
    with pytest.raises(ValueError, match="weight must be positive, got 0"):
        PerceptualReconstruction(picture(), model, 0)
    with pytest.raises(ValueError, match="2 coordinates and 4 channels"):
        PerceptualReconstruction(picture(4), model, 0.1)


def test_an_image_larger_than_a_chunk_is_still_seen_whole(model: LPIPS) -> None:
    large = PerceptualReconstruction(Image(np.zeros((130, 130, 3), np.uint8)), model, 0.1)
    assert large.points > points_at_once(torch.device("cpu"))
    done = staf.fit(large, field=staf.siren(2, 3, width=4, depth=2), recipe=staf.Recipe(steps=1), device="cpu")
    assert done.result.steps == 1
