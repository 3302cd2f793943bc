"""The box around a scene: where cameras look, and what is said where that cannot be found or misses them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

from staf.kinds import Scene
from staf.kinds.scene.bounds import bounds, share_of_rays
from staf.kinds.scene.cameras import looking_at
from staf.signals.errors import SignalError
from tests.kinds.scene import procedural


def blender(tmp_path, edit):
    folder = procedural.write_blender(tmp_path / "scene", train=4, test=0, size=8)
    document = json.loads((folder / "transforms_train.json").read_text())
    for frame in document["frames"]:
        edit(frame["transform_matrix"])
    (folder / "transforms_train.json").write_text(json.dumps(document))
    return folder


def nerfstudio(tmp_path, *, photos=4, edit=None):
    folder = blender(tmp_path, edit or (lambda pose: None))
    document = json.loads((folder / "transforms_train.json").read_text())
    document["frames"] = document["frames"][:photos]
    for name in ("transforms_train.json", "transforms_test.json"):
        (folder / name).unlink()
    (folder / "transforms.json").write_text(json.dumps(document))
    return folder


def side_by_side(pose):
    """The same direction for every camera, each at its own place."""
    for row, axes in zip(pose, torch.eye(3).tolist(), strict=False):
        row[:3] = axes


def test_one_photo_needs_a_box(tmp_path):
    folder = nerfstudio(tmp_path, photos=1)
    with pytest.raises(
        SignalError, match=r"there is one camera, so that .* cannot be found: give the box .*--centre X"
    ):
        Scene.read(folder)
    with pytest.raises(SignalError, match=r"--centre X Y Z --half X"):
        Scene.read(folder, half=1.0)
    one = Scene.read(folder, centre=(0, 0, 0.1), half=1.2)
    assert (one.centre, one.half) == ((0, 0, 0.1), 1.2)
    # Around the box, at the camera's distance.
    path = one.render(lambda x: torch.zeros(len(x), 4), path="orbit", frames=3).cameras
    assert path.positions.isfinite().all()
    assert float((path.positions - torch.tensor(one.centre)).norm(dim=1).mean()) == pytest.approx(4, abs=0.2)


def test_cameras_that_look_the_same_way_need_a_centre(tmp_path):
    folder = nerfstudio(tmp_path, edit=side_by_side)
    with pytest.raises(SignalError, match="the 4 cameras look the same way"):
        Scene.read(folder)
    read = Scene.read(folder, centre=(0, 0, -3))
    assert read.half > 1


def test_cameras_at_the_point_they_look_at_need_a_half(tmp_path):
    def at_the_origin(pose):
        for row in pose[:3]:
            row[3] = 0.0

    folder = nerfstudio(tmp_path, edit=at_the_origin)
    with pytest.raises(SignalError, match="the cameras are where they look"):
        Scene.read(folder)
    assert Scene.read(folder, half=2.0).half == 2
    with pytest.raises(SignalError, match=r"a positive half side, got .*-1\.0"):
        Scene.read(folder, half=-1.0)


def test_what_is_found_is_rounded_to_a_millionth_of_the_box(tmp_path):
    scene = Scene.read(nerfstudio(tmp_path))
    assert (scene.centre, scene.half) == ((0, 0, 0), 2)


def test_poses_the_other_way_round_are_refused_with_what_they_must_be(tmp_path):
    """From the scene's frame to the camera's: all cameras seem to be at one place."""

    def inverted(pose):
        pose[:] = torch.linalg.inv(torch.tensor(pose)).tolist()

    with pytest.raises(SignalError, match=r"cannot be found: .*Poses map a camera's frame to the scene's"):
        Scene.read(nerfstudio(tmp_path, edit=inverted))


def test_what_is_given_is_taken(tmp_path):
    folder = blender(tmp_path, lambda pose: None)
    cameras = procedural.around(4)
    assert bounds(folder, cameras, centre=(0, 1, 0)) == ((0, 1, 0), 1.5)
    assert bounds(folder, cameras, half=2) == ((0, 0, 0), 2)


def test_a_box_that_few_rays_meet_is_noted_until_it_is_changed(tmp_path):
    def a_hundredfold(pose):
        for row in pose[:3]:
            row[3] *= 100

    far = Scene.read(blender(tmp_path, a_hundredfold), half=1.5)
    (note,) = (note for note in far.notes if "meet the box" in note)
    assert note.startswith("only 0.")
    assert "half side 1.5" in note
    assert "--half X" in note
    larger = far.changed(half=150.0)
    assert not any("meet the box" in note for note in larger.notes)
    assert any("meet the box" in note for note in larger.changed(half=1.5).notes)
    assert not any("meet the box" in note for note in Scene.read(tmp_path / "scene", half=150.0).notes)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("layout", [blender, nerfstudio])
def test_a_scene_is_found_at_any_scale_and_far_from_the_origin(tmp_path, layout, scale):
    """Blender's own box is taken where cameras are around it, and that of the cameras elsewhere."""

    def elsewhere(pose):
        for row, place in zip(pose, (0, 0, 0) if scale == 1 else (5e5, -4e5, 300), strict=False):
            row[3] = scale * (row[3] + place)

    read = Scene.read(layout(tmp_path, edit=elsewhere))
    cameras = read.in_box(read.train.cameras)
    half = 1.5 if scale == 1 and layout is blender else 2 * scale
    assert read.half == pytest.approx(half, rel=0.02)
    expected = procedural.around(4).positions / (half / scale)
    torch.testing.assert_close(cameras.positions, expected, atol=0.02, rtol=0)


def test_cameras_that_look_away_from_the_box_are_refused(tmp_path):
    def turned(pose):
        # About the camera's own upward axis, by half a turn.
        for row in pose[:3]:
            row[0], row[2] = -row[0], -row[2]

    with pytest.raises(SignalError, match=r"none of the rays of the photos meet the box .*half side 1.5, .*--half"):
        Scene.read(blender(tmp_path, turned))
    folder = tmp_path / "all around"
    with pytest.raises(SignalError, match=r"most cameras look away from the point .*--half .*looks along -z with y up"):
        Scene.read(nerfstudio(folder, edit=turned))
    assert Scene.read(folder / "scene", centre=(0, 0, 0), half=9).half == 9


def test_a_box_grows_until_it_holds_what_transparent_photos_show(tmp_path):
    """Photos at an angle of 0.7 from 6 away show 2.2 on either side of the middle, and Blender's box has 1.5."""

    def farther(pose):
        for row in pose[:3]:
            row[3] *= 1.5

    folder = blender(tmp_path, farther)

    def covered(side):
        photo = np.zeros((8, 8, 4), np.uint8)
        photo[4 - side : 4 + side, 4 - side : 4 + side, 3] = 255
        for path in (folder / "train").glob("*.png"):
            Pillow.fromarray(photo).save(path)
        photo[0, 0, 3] = 0
        Pillow.fromarray(photo).save(path)

    covered(1)
    assert Scene.read(folder).half == 1.5
    covered(4)
    whole = Scene.read(folder)
    assert 1.8 < whole.half < 3
    pixels, cameras = whole.train.pixels, whole.train.cameras
    assert share_of_rays(whole.in_box(cameras), pixels) > 0.99
    assert share_of_rays(whole.changed(half=1.5).in_box(cameras), pixels) < 0.9
    assert Scene.read(folder, half=1.5).half == 1.5


def test_the_share_of_rays():
    inside = looking_at(torch.tensor([[0.0, 0.5, 0.0]]), torch.zeros(3), angle=0.7, height=6, width=6)
    assert share_of_rays(inside) == 1
    # The box's near face, two wide and three away, fills a quarter of a picture that is four wide there.
    across = looking_at(torch.tensor([[0.0, -4.0, 0.0]]), torch.zeros(3), angle=1.176, height=6, width=6)
    assert share_of_rays(across) == pytest.approx(0.25, abs=0.05)


def test_a_box_of_other_numbers_is_refused(tmp_path):
    folder = procedural.write_blender(tmp_path, train=2, test=0, size=8)
    with pytest.raises(SignalError, match=r"a centre of 3 numbers and a positive half side, got centre \(0, 0\) and"):
        Scene.read(folder, centre=(0, 0))
    with pytest.raises(SignalError, match="and half 'a'"):
        Scene.read(folder, half="a")


def test_held_out_views_that_miss_the_box_are_noted(tmp_path):
    folder = procedural.write_blender(tmp_path, train=3, test=2, size=8)
    assert Scene.read(folder).notes == []
    path = folder / "transforms_test.json"
    document = json.loads(path.read_text())
    for frame in document["frames"]:
        frame["transform_matrix"][0][3] += 100
    path.write_text(json.dumps(document))
    read = Scene.read(folder)
    (note,) = read.notes
    assert note.startswith("only 0 % of the rays of the held-out views meet the box around (0, 0, 0)")
    # Said once for another box too.
    (note,) = read.changed(half=1.2).notes
    assert "held-out views meet the box around (0, 0, 0) with half side 1.2" in note
