"""Pictures of a field in bands of pixels."""

from __future__ import annotations

import torch

from staf.kinds.scene import rendering
from tests.kinds.scene.small import scene


def ball(x):
    inside = (x[:, :3].norm(dim=1) < 0.5).float()
    return torch.stack([400 * inside, 0 * inside + 1, x[:, 0], 0 * inside], -1)


def test_bands_make_the_same_picture(monkeypatch):
    one = scene(train=1, test=0, size=7, subpixels=2)
    whole = one.render(ball).train
    seen = []
    rays = type(one.train.cameras).rays
    monkeypatch.setattr(
        type(one.train.cameras), "rays", lambda self, view, *at: seen.append(len(view)) or rays(self, view, *at)
    )
    monkeypatch.setattr(rendering, "RAYS", 10)
    banded = one.render(ball).train
    assert max(seen) == 10
    assert torch.equal(whole.pixels, banded.pixels)
    assert torch.equal(whole.depths, banded.depths)


def test_pictures_come_one_by_one():
    one = scene(train=3, test=0, size=6)
    drawn = rendering.draw(one, ball, one.cameras)
    picture, depth = next(drawn)
    assert (picture.dtype, picture.shape, depth.shape) == (torch.uint8, (6, 6, 3), (6, 6))
    assert len(list(drawn)) == 2


def test_pictures_keep_no_graph_and_ask_for_few_numbers_of_points():
    one = scene(train=4, test=0, size=40, ray_samples=200)
    weight = torch.ones((), requires_grad=True)
    numbers, attached = [], []

    def predict(x):
        numbers.append(len(x))
        found = weight * ball(x)
        attached.append(found.requires_grad)
        return found

    # Occupied cells are looked at in whole chunks.
    occupied, background = one.occupancy(ball, "cpu").around(), torch.ones(3)
    for view in range(len(one.cameras)):
        pixel = torch.arange(1600)[: 1600 - 97 * view]
        origin, direction = one.in_box(one.cameras).rays(
            torch.full_like(pixel, view), pixel // 40 + 0.5, pixel % 40 + 0.5
        )
        shown = rendering.render_rays(predict, origin, direction, occupied, background, step=one.step)
        assert not shown.colour.requires_grad
    assert not any(attached)
    assert len(numbers) == 4
    assert all(number % 1024 == 0 for number in numbers), numbers
