"""Scene as a kind of signal: opened from a folder, kept in a file, rendered in its own units."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Scene, from_metadata
from staf.kinds.scene.cameras import looking_at
from staf.kinds.scene.reading import Views
from staf.signals import SignalError
from staf.signals.errors import NoSamples
from tests.kinds.scene.procedural import around, traced, write_blender
from tests.kinds.scene.small import HALF, scene


@pytest.fixture
def folder(tmp_path):
    return write_blender(tmp_path / "ball", train=3, test=2, size=12)


def ball(x):
    """A red ball of radius 1/2 in the box: density and colour (n, 4)."""
    inside = (x[:, :3].norm(dim=1) < 0.5).float()
    return torch.stack([400 * inside, 0 * inside + 1, 0 * inside, 0 * inside], -1)


def test_a_folder_is_opened_by_the_files_in_it(folder):
    opened = staf.open(folder)
    assert repr(opened) == "Scene('ball', 3 photos of 12x12, 2 held out)"
    assert (opened.centre, opened.half, opened.background) == ((0, 0, 0), 1.5, (1, 1, 1))
    assert opened.shape == np.asarray(opened).shape[:3] == (3, 12, 12)
    assert opened.source == str(folder)
    assert staf.open(folder, name="mine").name == "mine"


def test_folders_that_are_no_scene_say_what_one_has(tmp_path, folder):
    (tmp_path / "other").mkdir()
    with pytest.raises(SignalError, match=r"it is a folder, and one of a scene has transforms_train.json or.*fit-many"):
        staf.open(tmp_path / "other")
    with pytest.raises(SignalError, match=r"it is a folder$"):
        staf.open(folder, kind="image")
    (folder / "train" / "r_1.png").write_bytes(b"no picture")
    with pytest.raises(SignalError, match=r"cannot open .*ball.*r_1\.png"):
        staf.open(folder)


def test_a_scene_without_held_out_views_says_so(folder):
    (folder / "transforms_test.json").unlink()
    opened = staf.open(folder)
    assert opened.test is None
    assert "no views are held out" in opened.notes[0]
    assert "list them in transforms_test.json (Blender) or in test_filenames" in opened.notes[0]


def test_masks_that_are_not_used_are_noted(folder):
    path = folder / "transforms_train.json"
    document = json.loads(path.read_text())
    document["frames"][1]["mask_path"] = "masks/1.png"
    path.write_text(json.dumps(document))
    (note,) = staf.Scene.read(folder).notes
    assert note.startswith(f"1 of {len(document['frames'])} photos have a mask (mask_path of frame 1 of ")


@pytest.mark.parametrize("change", [{"poses": 1.5}, {"focal": 1.1}, {"centre": 1.1}, {"distortion": None}])
def test_content_is_that_of_photos_and_cameras(change):
    one = scene(train=2, test=0, size=6)
    cameras = replace(one.train.cameras, distortion=torch.tensor([[0.1, 0.0, 0.0, 0.0]] * 2))
    first = one.with_photos(replace(one.train, cameras=cameras), None)
    ((name, factor),) = change.items()
    other = replace(cameras, **{name: None if factor is None else getattr(cameras, name) * factor})
    second = one.with_photos(replace(one.train, cameras=other), None)
    contents = [each.metadata()["content"] for each in (one, first, second)]
    assert contents[1] != contents[2]
    assert first.with_photos(first.train, None).metadata()["content"] == contents[1]


def test_photos_can_be_made_smaller_on_the_way_in(folder):
    small = Scene.read(folder, downscale=3)
    assert small.shape == (3, 4, 4)
    assert small.train.cameras.focal[0, 0] == pytest.approx(staf.open(folder).train.cameras.focal[0, 0] / 3)


def test_metadata_makes_an_empty_scene_that_renders_the_same(folder):
    opened = staf.open(folder).changed(background=(0, 0, 0), ray_samples=128, network="mlp")
    plain = json.loads(json.dumps(opened.metadata()))
    again = from_metadata(plain)
    assert repr(again) == "Scene('ball', 3 photos of 12x12, no photos)"
    assert (again.network, again.subpixels) == ("mlp", 1)
    assert from_metadata({**plain, "subpixels": 3}).subpixels == 3
    # Files had no such entry before.
    assert from_metadata({name: value for name, value in plain.items() if name != "subpixels"}).subpixels == 1
    with pytest.raises(NoSamples, match="holds no photos"):
        _ = again.train
    first, second = (each.render(ball) for each in (opened, again))
    assert torch.equal(first.train.pixels, second.train.pixels)
    assert len(first.train) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"half": -1.0},
        {"half": "wide"},
        {"centre": [0, 0]},
        {"background": [2, 0, 0]},
        {"shape": [0, 4, 4]},
        {"ray_samples": 0},
        {"subpixels": "2"},
        {"cameras": {}},
        {"notes": None},
    ],
)
def test_metadata_of_strangers_are_checked(change):
    with pytest.raises(SignalError):
        from_metadata({**scene(train=2, test=1, size=4).metadata(), **change})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"half": 0}, "positive half side"),
        ({"background": (1, 1)}, "background must be three numbers between 0 and 1"),
        ({"background": "black"}, r"three numbers between 0 and 1, such as \(0, 0, 0\) for black, got 'black'"),
        ({"ray_samples": 0}, "ray_samples must be a whole number"),
        ({"subpixels": 5}, "subpixels must be a whole number between 1 and 4, got 5"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(SignalError, match=message):
        scene(train=2, test=0, size=4).changed(**arguments)
    empty = Views([], torch.zeros(0, 4, 4, 4, dtype=torch.uint8), around(2).subset([]))
    with pytest.raises(SignalError, match="at least one photo"):
        Scene(empty)


@pytest.mark.parametrize("place", [10.0, 5e6])
def test_a_ball_is_rendered_where_it_is_in_the_scenes_own_units(place):
    """A ball of radius 2 around (place, 0, 0), seen from 20 away: its nearest point is 18 away."""
    positions = torch.tensor([[place, -20.0, 0.0], [place, 0.0, 0.0]], dtype=torch.float64)
    camera = looking_at(positions[:1], positions[1], angle=0.5, height=9, width=9)
    photo = Views(["one"], torch.zeros(1, 9, 9, 4, dtype=torch.uint8), camera)
    away = Scene(photo, centre=(place, 0, 0), half=4.0, background=(0, 0, 1))
    away = Scene.from_metadata(json.loads(json.dumps(away.metadata())))
    shown = away.render(ball).train
    assert shown.pixels[0, 4, 4].tolist() == [255, 0, 0]
    assert shown.pixels[0, 0, 0].tolist() == [0, 0, 255]
    assert float(shown.depths[0, 4, 4]) == pytest.approx(18.0, abs=0.05)
    assert float(shown.depths[0, 0, 0]) == 0
    angle = 2 / 20
    across = float((shown.depths[0, 4] > 0).sum()) / 9 * 0.5
    assert across == pytest.approx(2 * angle, abs=0.12)


@pytest.mark.parametrize("place", [10.0, 5e6])
def test_the_mesh_is_in_the_scenes_own_units(place):
    one = scene(train=1, test=0, size=4).changed(centre=(place, 0, 0), half=4.0, ray_samples=64)
    mesh = one.mesh(ball, resolution=32)
    radius = np.linalg.norm(mesh.vertices - np.array([place, 0, 0]), axis=1)
    assert np.abs(radius - 2).max() < 4.0 / 32 * 2
    with pytest.raises(SignalError, match="level must be between 0 and 1, got 2"):
        one.mesh(ball, level=2.0)
    with pytest.raises(SignalError, match="resolution must be at least 2"):
        one.mesh(ball, resolution=1)


def test_paths_and_sizes():
    one = scene(train=4, test=3, size=6)
    assert one.render(ball, path="orbit", frames=5, size=(4, 3)).shape == (5, 3, 4)
    assert one.render(ball, views=[2]).shape == (1, 6, 6)
    given = around(2, size=5)
    assert one.render(ball, path=given).shape == (2, 5, 5)
    for arguments, message in (
        ({"path": "spiral"}, "path must be 'orbit' or cameras, got 'spiral'"),
        ({"frames": 3}, "frames are those of a path"),
        ({"views": [3]}, "views must be between 0 and 2"),
        ({"views": [0], "path": "orbit"}, "views or a path, not both"),
        ({"size": (0, 4)}, "the size of a picture must be between 1"),
    ):
        with pytest.raises(SignalError, match=message):
            one.render(ball, **arguments)


def test_haze_beside_matter_is_not_drawn():
    """Training does not see the neighbours of cells with matter, where rays are drawn all the same."""
    one = scene(train=1, test=0, size=8, ray_samples=256)

    def hazy(x):
        return ball(x) + torch.tensor([0.5 * 0.01 / one.step, 0, 0, 0])

    shown = [one.render(field).train.pixels for field in (ball, hazy)]
    assert torch.equal(*shown)


def test_a_pixel_is_the_mean_of_the_pixels_of_a_larger_picture():
    one = scene(train=1, test=0, size=8, ray_samples=64)
    larger = one.render(ball, size=(16, 16)).train.pixels.float().view(8, 2, 8, 2, 3).mean((1, 3))
    found = one.changed(subpixels=2).render(ball).train.pixels[0].float()
    assert (found - one.render(ball).train.pixels[0].float()).abs().max() > 20
    # Each of the five pictures is rounded.
    assert (found - larger).abs().max() <= 1.01
    assert torch.equal(one.render(ball, subpixels=2).train.pixels[0].float(), found)


def test_values_and_coordinates_follow_the_pixels():
    one = scene(train=2, test=0, size=6)
    values, coordinates = one.values(), one.coordinates()
    assert values.shape == (72, 3)
    assert coordinates.shape == (72, 6)
    torch.testing.assert_close(coordinates[:, 3:].norm(dim=1), torch.ones(72))
    assert (coordinates[:, :3].abs() <= 1).all()
    again = one.from_values(values)
    assert torch.equal(again.train.pixels.reshape(-1, 3), (values * 255).round().to(torch.uint8))
    assert one.coordinate_units() == (HALF, HALF, HALF, 1, 1, 1)
    with pytest.raises(SignalError, match="values must have shape"):
        one.from_values(values[:5])
    with pytest.raises(SignalError, match="8 bits"):
        one.with_floats(values)


def test_gradients_of_density_are_per_unit_of_the_scene():
    """exp(-r^2) in the box: its derivative by the scene's own lengths is divided by the half side."""

    class Bump(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Parameter(torch.ones(()))

        def forward(self, x):
            return self.one * torch.exp(-x[:, :3].square().sum(1, keepdim=True)).expand(len(x), 4)

    one = scene(train=1, test=0, size=4)
    field = staf.FittedField(Bump(), {"signal": one.metadata(), "convention": "centres"})
    at = torch.tensor([[0.2, -0.1, 0.3, 0.0, 0.0, 1.0]])
    slope = field.gradient(at)[0, 0, :3].detach()
    exact = -2 * at[0, :3] * torch.exp(-at[0, :3].square().sum()) / HALF
    torch.testing.assert_close(slope, exact)


def test_known_depth_of_the_procedural_scene_is_its_own():
    cameras = around(1, size=9)
    pixels, depth = traced(cameras)
    assert pixels.shape == (1, 9, 9, 4)
    assert float(depth[torch.isfinite(depth)].min()) > 2.5
