from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.kinds import Image
from staf.tasks import Reconstruction, reconstruction


def image(height=4, width=5):
    return Image(np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8))


def test_targets_and_coordinates_follow_the_image():
    task = Reconstruction(image())
    assert task.points == 20
    assert task.observation.shape == (3, 4, 5)
    assert task.observation[1, 2, 3] == task.target[2 * 5 + 3, 1]
    torch.testing.assert_close(task.coordinates[7], torch.tensor([-0.25, 0.0]))


def test_chunks_of_the_loss_add_up():
    task = Reconstruction(image())
    batch = task.batch(None)
    field = torch.nn.Linear(2, 3)
    whole = task.loss(field, batch)
    parts = [task.loss(field, type(batch)(*(t[i : i + 7] for t in batch))) for i in range(0, 20, 7)]
    torch.testing.assert_close(sum(parts), whole)
    torch.testing.assert_close(whole, (field(batch.coordinates) - batch.target).square().mean())


def test_an_index_picks_points_with_or_without_cached_coordinates(monkeypatch):
    cached = Reconstruction(image())
    monkeypatch.setattr(reconstruction, "CACHED_POINTS", 0)
    lazy = Reconstruction(image())
    assert lazy.coordinates is None
    index = torch.tensor([3, 19, 0])
    for a, b in zip(cached.batch(index), lazy.batch(index), strict=True):
        assert torch.equal(a, b)
    for a, b in zip(cached.batch(None), lazy.batch(None), strict=True):
        assert torch.equal(a, b)


def test_evaluation_clamps():
    task = Reconstruction(Image(np.full((3, 3), 255, np.uint8)))
    assert task.evaluate(lambda x: torch.full((len(x), 1), 7.0))["psnr"] == float("inf")
    assert task.evaluate(lambda x: torch.full((len(x), 1), 0.9))["psnr"] == pytest.approx(20.0, abs=1e-3)


def test_the_convention_is_recorded():
    assert Reconstruction(image(), "ends").metadata()["convention"] == "ends"
    torch.testing.assert_close(Reconstruction(image(), "ends").coordinates[0], torch.tensor([-1.0, -1.0]))
