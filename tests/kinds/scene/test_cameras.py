"""Rays against hand-computed ones."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from staf.kinds.scene.cameras import Cameras, looking_at, nearest_to_axes, orbit, spread, upwards
from staf.signals import SignalError
from tests.kinds.scene import procedural


def test_rays_by_hand():
    # At the origin, looking along -z, with a focal length of two pixels and the axis through the middle of 4x2 pixels.
    camera = Cameras(
        torch.eye(3, 4)[None], torch.tensor([[2.0, 2.0]]), torch.tensor([[2.0, 1.0]]), None, height=2, width=4
    )
    view, row, column = torch.tensor([0, 0, 0]), torch.tensor([1.0, 0.5, 0.0]), torch.tensor([2.0, 3.5, 4.0])
    origin, direction = camera.rays(view, row, column)
    assert origin.abs().max() == 0
    expected = torch.tensor([[0, 0, -1], [0.75, 0.25, -1], [1, 0.5, -1]])
    torch.testing.assert_close(direction, expected / expected.norm(dim=1, keepdim=True))


def test_the_middle_of_a_picture_looks_at_the_target():
    cameras = procedural.around(5)
    view = torch.arange(5)
    origin, direction = cameras.rays(view, torch.full((5,), 12.0), torch.full((5,), 12.0))
    torch.testing.assert_close(direction, -origin / origin.norm(dim=1, keepdim=True))
    assert nearest_to_axes(cameras).norm() < 1e-4


def test_the_field_of_view():
    camera = looking_at(torch.tensor([[3.0, 0.0, 0.0]]), torch.zeros(3), angle=1.0, height=10, width=20)
    zero = torch.tensor([0, 0])
    _, direction = camera.rays(zero, torch.tensor([5.0, 5.0]), torch.tensor([0.0, 20.0]))
    assert math.acos(float(direction[0] @ direction[1])) == pytest.approx(1.0, abs=1e-5)


def test_moving_into_a_box_keeps_directions():
    cameras = procedural.around(3)
    moved = cameras.moved(torch.tensor([1.0, 2.0, 3.0]), 2.0)
    torch.testing.assert_close(moved.positions, (cameras.positions - torch.tensor([1.0, 2.0, 3.0])) / 2)
    some = (torch.tensor([2]), torch.tensor([3.5]), torch.tensor([7.5]))
    torch.testing.assert_close(moved.rays(*some)[1], cameras.rays(*some)[1])


def test_a_smaller_picture_has_the_same_view():
    cameras = procedural.around(1, size=24)
    small = cameras.scaled(2)
    assert (small.height, small.width) == (12, 12)
    zero = torch.tensor([0])
    torch.testing.assert_close(
        small.rays(zero, torch.tensor([2.5]), torch.tensor([3.5]))[1],
        cameras.rays(zero, torch.tensor([5.0]), torch.tensor([7.0]))[1],
    )


def test_an_orbit_is_closed_and_looks_at_the_scene():
    path = orbit(procedural.around(7), 12).resized(width=8, height=6)
    assert len(path) == 12
    assert (path.height, path.width) == (6, 8)
    steps = (path.positions - path.positions.roll(1, 0)).norm(dim=1)
    assert steps.max() - steps.min() < 1e-4
    assert nearest_to_axes(path).norm() < 1e-3


def test_parallel_axes_are_met_nearest_to_where_one_says():
    one = looking_at(torch.tensor([[3.0, 0.0, 0.0]]), torch.zeros(3), angle=0.7, height=4, width=4)
    torch.testing.assert_close(nearest_to_axes(one), torch.zeros(3))
    torch.testing.assert_close(nearest_to_axes(one, torch.tensor([1.0, 5.0, 0.0])), torch.tensor([1.0, 0.0, 0.0]))
    assert spread(one) == pytest.approx(0, abs=1e-6)
    path = orbit(one, 6, torch.tensor([1.0, 5.0, 0.0]))
    torch.testing.assert_close((path.positions - torch.tensor([1.0, 0.0, 0.0])).norm(dim=1), torch.full((6,), 2.0))
    # Two at right angles.
    two = looking_at(3 * torch.eye(3)[:2], torch.zeros(3), angle=0.7, height=4, width=4)
    assert spread(two) == pytest.approx(0.5, abs=1e-6)
    assert nearest_to_axes(two, torch.ones(3)).norm() < 1e-5


def test_upwards_is_the_axis_that_cameras_nearly_agree_on():
    level = looking_at(torch.tensor([[3.0, 0.0, 0.2], [0.0, 3.0, 0.0]]), torch.zeros(3), angle=0.7, height=4, width=4)
    assert upwards(level).tolist() == [0, 0, 1]
    tilted = torch.nn.functional.normalize(torch.tensor([0.0, 1.0, 1.0]), dim=0)
    leaning = looking_at(3 * torch.eye(3)[:1], torch.zeros(3), angle=0.7, height=4, width=4, up=tilted)
    torch.testing.assert_close(upwards(leaning), tilted)
    path = orbit(leaning, 5)
    torch.testing.assert_close(path.positions @ tilted, torch.zeros(5), atol=1e-5, rtol=0)


def test_photos_from_straight_above_are_orbited_from_above():
    turned = torch.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
    ring = torch.tensor([[1.0, 0.0, 4.0], [0.0, 1.0, 4.0], [-1.0, 0.0, 4.0], [0.0, -1.0, 4.0]])
    each = [
        looking_at(place[None], place - torch.eye(3)[2], angle=0.7, height=4, width=4, up=up).poses
        for place, up in zip(ring, turned, strict=True)
    ]
    one = looking_at(ring, torch.zeros(3), angle=0.7, height=4, width=4)
    down = replace(one, poses=torch.cat(each))
    assert upwards(down).tolist() == [0, 0, 1]
    path = orbit(down, 6)
    torch.testing.assert_close(path.positions[:, 2], torch.full((6,), 4.0))
    # With others that look up, nothing is agreed on.
    flipped = down.poses @ torch.diag(torch.tensor([1.0, -1.0, -1.0, 1.0]))
    assert upwards(replace(down, poses=torch.cat([down.poses, flipped]))).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"height": 0}, "1 cameras of 4x0 pixels"),
        ({"poses": []}, "0 cameras"),
        ({"focal": [[1.0]]}, "focal of cameras must be"),
        ({"poses": [[[float("nan")] * 4] * 3]}, "poses of cameras must be"),
    ],
)
def test_cameras_of_a_file_are_checked(change, message):
    plain = looking_at(3 * torch.eye(3)[:1], torch.zeros(3), angle=0.7, height=4, width=4).to_plain()
    with pytest.raises(SignalError, match=message):
        Cameras.from_plain({**plain, **change})
