"""Posed photos from folders, and what is wrong with them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

import staf
from staf.kinds.scene.bounds import bounds
from staf.kinds.scene.reading import read_cameras, read_views
from staf.signals.errors import SignalError
from tests.kinds.scene import procedural


@pytest.fixture
def folder(tmp_path):
    return procedural.write_blender(tmp_path / "scene")


def change(folder, edit, name="transforms_train.json"):
    document = json.loads((folder / name).read_text())
    edit(document)
    (folder / name).write_text(json.dumps(document))


def scaled(document, factor):
    """The second pose with its rotation multiplied."""
    pose = np.array(document["frames"][1]["transform_matrix"])
    pose[:3, :3] *= factor
    return pose.tolist()


def test_blender_folders(folder):
    views = read_views(folder)
    assert {split: len(part) for split, part in views.items()} == {"train": 6, "test": 2}
    train = views["train"]
    assert train.names[0] == "train/r_0.png"
    assert train.pixels.dtype == torch.uint8
    assert torch.equal(train.pixels, procedural.traced(procedural.around(6))[0])
    assert train.cameras.focal[0].tolist() == pytest.approx([12 / math.tan(0.35)] * 2)
    torch.testing.assert_close(train.cameras.poses, procedural.around(6).poses.double())
    centre, half = bounds(folder, train.cameras)
    assert (centre, half) == ((0, 0, 0), 1.5)


def test_downscaling_is_by_area_and_colour_counts_as_much_as_it_covers(tmp_path):
    folder = procedural.write_blender(tmp_path, train=1, test=0)
    picture = np.zeros((24, 24, 4), np.uint8)
    picture[0, 0] = (200, 100, 0, 255)
    Pillow.fromarray(picture).save(folder / "train" / "r_0.png")
    views = read_views(folder, downscale=2)["train"]
    assert views.pixels.shape == (1, 12, 12, 4)
    assert views.pixels[0, 0, 0].tolist() == [200, 100, 0, 64]
    assert views.cameras.width == 12
    assert views.cameras.focal[0, 0] == pytest.approx(6 / math.tan(0.35))


def test_nerfstudio_files_with_intrinsics_of_each_frame(folder):
    document = json.loads((folder / "transforms_train.json").read_text())
    for frame in document["frames"]:
        frame["file_path"] += ".png"
        frame.update(fl_x=100.0, fl_y=90.0, cx=20.0, cy=28.0, w=48, h=48, k1=0.1, p1=0.01)
    del document["camera_angle_x"]
    for name in ("transforms_train.json", "transforms_test.json"):
        (folder / name).unlink()
    (folder / "transforms.json").write_text(json.dumps(document))
    views = read_views(folder)
    assert list(views) == ["train"]
    cameras = views["train"].cameras
    # The intrinsics are for pictures of 48x48, and those on disk have 24x24.
    assert cameras.focal[0].tolist() == [50, 45]
    assert cameras.centre[0].tolist() == [10, 14]
    assert cameras.distortion[0].tolist() == pytest.approx([0.1, 0, 0.01, 0])
    centre, half = bounds(folder, cameras)
    assert math.hypot(*centre) < 0.05
    assert half == pytest.approx(2.0, abs=0.01)


def test_one_of_width_and_height_is_enough(folder):
    change(folder, lambda d: d.update(fl_x=100.0, cy=28.0, h=48))
    cameras = read_views(folder)["train"].cameras
    assert cameras.focal[0].tolist() == [50, 50]
    assert cameras.centre[0].tolist() == [12, 14]


def test_an_angle_of_view_may_be_given_upwards_too(folder):
    across = 12 / math.tan(0.35)
    change(folder, lambda d: d.update(camera_angle_y=2 * math.atan(12 / 60)))
    assert read_views(folder)["train"].cameras.focal[0].tolist() == pytest.approx([across, 60])
    change(folder, lambda d: d.pop("camera_angle_x"))
    assert read_views(folder)["train"].cameras.focal[0].tolist() == pytest.approx([60, 60])
    # A focal length is more exact than an angle.
    change(folder, lambda d: d.update(fl_y=50.0))
    assert read_views(folder)["train"].cameras.focal[0].tolist() == pytest.approx([50, 50])


def test_photos_that_are_listed_again_are_noted(folder):
    change(folder, lambda d: d["frames"].append(d["frames"][1]))
    (note,) = read_views(folder)["train"].notes
    assert note.startswith("1 of 7 frames list a photo again (frame 6 of transforms_train.json and frame 1 of ")


@pytest.mark.parametrize("factor", [0, -1, 2.5, "2", True])
def test_downscale_is_a_whole_number(folder, factor):
    with pytest.raises(SignalError, match=f"downscale must be a whole number .*, got {factor!r}"):
        read_views(folder, downscale=factor)


def test_photos_that_do_not_exist_are_left_out_when_asked(folder):
    (folder / "train" / "r_1.png").unlink()
    (folder / "train" / "r_4.png").unlink()
    with pytest.raises(
        SignalError, match=r"frame 1 .*r_1' does not exist \(2 of 8 photos are missing\): .*--skip-missing"
    ):
        read_views(folder)
    views = read_views(folder, skip_missing=True)
    assert views["train"].names == [f"train/r_{i}.png" for i in (0, 2, 3, 5)]
    assert torch.equal(views["train"].cameras.poses, procedural.around(6).poses.double()[[0, 2, 3, 5]])
    (note,) = views["train"].notes
    assert "2 of 8 photos are missing and left out" in note


def test_without_any_photo_nothing_is_left_out(folder):
    for photo in (folder / "train").iterdir():
        photo.unlink()
    with pytest.raises(SignalError, match=r"no photos to fit: frame 0 .*6 of 8 photos are missing"):
        read_views(folder, skip_missing=True)
    for photo in (folder / "test").iterdir():
        photo.unlink()
    assert list(read_views(procedural.write_blender(folder / "other"), skip_missing=True)) == ["train", "test"]


def test_a_scene_without_held_out_photos_says_so(folder):
    for photo in (folder / "test").iterdir():
        photo.unlink()
    scene = staf.Scene.read(folder, skip_missing=True)
    assert scene.test is None
    assert any("2 of 8 photos are missing and left out" in note for note in scene.notes)
    assert any("no views are held out" in note for note in scene.notes)


def test_photos_of_a_split_that_is_not_used_need_not_exist(folder):
    document = json.loads((folder / "transforms_test.json").read_text())
    (folder / "transforms_val.json").write_text(json.dumps(document).replace("./test/", "./val/"))
    assert {split: len(part) for split, part in read_views(folder).items()} == {"train": 6, "test": 2}


@pytest.mark.parametrize("written", [".\\train\\r_{}", "train\\r_{}.png", "train/r_{}.PNG"])
def test_paths_as_other_systems_write_them(folder, written):
    change(folder, lambda d: [f.update(file_path=written.format(i)) for i, f in enumerate(d["frames"])])
    assert read_views(folder)["train"].names == [f"train/r_{i}.png" for i in range(6)]
    change(folder, lambda d: d["frames"][0].update(file_path="..\\..\\other.png"))
    with pytest.raises(SignalError, match="leaves the scene's folder"):
        read_views(folder)


def test_every_eighth_photo_is_for_testing_unless_the_file_says(tmp_path):
    folder = procedural.write_blender(tmp_path, train=16, test=0, size=8)
    (folder / "transforms_test.json").unlink()
    (folder / "transforms_train.json").rename(folder / "transforms.json")
    assert {split: len(part) for split, part in read_views(folder).items()} == {"train": 14, "test": 2}
    change(
        folder,
        lambda d: d.update(train_filenames=["train/r_0.png", "train/r_1.png"], test_filenames=["train/r_2.png"]),
        "transforms.json",
    )
    assert {split: part.names for split, part in read_views(folder).items()} == {
        "train": ["train/r_0.png", "train/r_1.png"],
        "test": ["train/r_2.png"],
    }


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d["frames"][2].update(file_path="./train/gone"), "frame 2 .*'./train/gone' does not exist"),
        (lambda d: d["frames"][1].update(transform_matrix=[[1, 2], [3, 4]]), "frame 1 .*4x4 or 3x4 .*got shape"),
        (lambda d: d["frames"][1].update(transform_matrix="x"), "4x4 or 3x4 numbers, got 'x'"),
        (
            lambda d: d["frames"][1].update(transform_matrix=[[1, 2], [3]]),
            "3x4 numbers, got '\\[\\[1, 2\\], \\[3\\]\\]'",
        ),
        (
            lambda d: d["frames"][0].update(transform_matrix=[[0] * 4] * 3),
            "frame 0 .*got lengths 0, 0, 0 and determinant 0",
        ),
        (lambda d: d["frames"][1].update(transform_matrix=scaled(d, 3.0)), "got lengths 3, 3, 3 and determinant 27"),
        (lambda d: d["frames"][1].update(transform_matrix=scaled(d, -1.0)), "got lengths 1, 1, 1 and determinant -1"),
        (
            lambda d: d["frames"][0].update(transform_matrix=[[float("nan")] * 4] * 4),
            "finite and below 1e[+]18, got nan",
        ),
        (lambda d: d["frames"][1].update(transform_matrix=[[1e30] * 4] * 4), "frame 1 .*below 1e[+]18, got 1e[+]30"),
        (lambda d: d["frames"][1].update(transform_matrix=[[10**400] * 4] * 4), "frame 1 .*below 1e[+]18, got inf"),
        (lambda d: d["frames"][1].pop("transform_matrix"), "frame 1 of transforms_train.json has no transform_matrix"),
        (
            lambda d: d["frames"][1].update(file_path="./train/r_2"),
            "frame 2 .*'train/r_2.png' has another transform_matrix in frame 1 .*: one of them is wrong",
        ),
        (
            lambda d: d["frames"][1].update(transform_matrix=np.transpose(d["frames"][1]["transform_matrix"]).tolist()),
            "frame 1 .*: the last row of transform_matrix must be 0, 0, 0, 1, got .*: the position is its last column",
        ),
        (lambda d: d.update(w=24, h=36), "frame 0 .*: w and h are 24 and 36, and the photo has 24x24 pixels"),
        (lambda d: d.update(w=-24), "frame 0 of transforms_train.json: w must be positive, got -24"),
        (lambda d: d.update(h=0), "frame 0 of transforms_train.json: h must be positive, got 0"),
        (lambda d: d.update(camera_angle_y=0), "camera_angle_y must be between 0 and pi, got 0"),
        (lambda d: d["frames"].clear(), "no photos to fit: the list of frames of transforms_train.json is empty"),
        (lambda d: d["frames"][0].update(file_path="../../../etc/passwd"), "leaves the scene's folder"),
        (lambda d: d["frames"][0].update(file_path="/etc/passwd"), "leaves the scene's folder"),
        (lambda d: d["frames"][0].update(file_path="a\0b"), "is not a path|does not exist"),
        (lambda d: d["frames"][0].update(file_path="a" * 5000), "frame 0 .*cannot look for the photo 'aaa.*too long"),
        (lambda d: d["frames"][0].pop("file_path"), "frame 0 of transforms_train.json has no file_path"),
        (lambda d: d.pop("camera_angle_x"), "the focal length is not known"),
        (
            lambda d: d.update(camera_angle_x=7.0),
            "frame 0 of transforms_train.json: camera_angle_x must be between 0 and pi, got 7",
        ),
        (lambda d: d.update(fl_x="long"), "frame 0 of transforms_train.json: fl_x must be a number"),
        (lambda d: d.update(fl_x=-3.0), "frame 0 of transforms_train.json: focal lengths must be positive"),
        (lambda d: d.update(camera_model="OPENCV_FISHEYE"), "camera_model must be one of .*got 'OPENCV_FISHEYE'"),
        (lambda d: d.update(is_fisheye=True), "frame 0 .*is_fisheye is set, .*: undistort the photos"),
        (
            lambda d: d["frames"][0].update(k3=0.1),
            "frame 0 of .*: lenses have k1, k2, p1 and p2 here, got k3: undistort",
        ),
        (
            lambda d: d["frames"][2].update(k1=-9.0),
            "frame 2 of .*: lens distortion of k1 -9, .*24x24 pixels: correct it",
        ),
        (lambda d: d["frames"][2].update(cx=1e40), "frame 2 of .*: cx must be a number, got '1e[+]40'"),
        (lambda d: d.pop("frames"), "transforms_train.json has no list of frames"),
    ],
)
def test_what_is_wrong_is_said(folder, edit, message):
    change(folder, edit)
    with pytest.raises(SignalError, match=message):
        read_views(folder)


def test_rounded_poses_and_a_byte_order_mark_are_read(folder):
    def rounded(document):
        for frame in document["frames"]:
            frame["transform_matrix"] = np.round(frame["transform_matrix"], 2).tolist()

    change(folder, rounded)
    text = (folder / "transforms_train.json").read_text()
    (folder / "transforms_train.json").write_text("\ufeff" + text, encoding="utf-8")
    assert len(read_views(folder)["train"]) == 6


def test_cameras_without_photos(folder):
    path = folder / "transforms_train.json"
    assert (read_cameras(path, height=3, width=5).height, read_cameras(path, height=3, width=5).width) == (3, 5)
    change(folder, lambda d: d.update(w=6, h=4))
    assert read_cameras(path, height=3, width=5).width == 6
    change(folder, lambda d: [frame.update(w=12, h=8) for frame in d["frames"]])
    cameras = read_cameras(path, height=3, width=5)
    assert (cameras.height, cameras.width, len(cameras)) == (8, 12, 6)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d.update(w=1_000_000, h=1_000_000), "the size of a picture must be .*got 1000000x1000000"),
        (lambda d: d.update(w=1e400, h=4), "frame 0 of transforms_train.json: w must be a number, got 'inf'"),
        (lambda d: d.update(w=0, h=4), "the size of a picture must be .*got 0x4"),
        (lambda d: d["frames"][3].update(w=8, h=6), "frame 3 .*w and h are 8x6, and those of frame 0 .* not given"),
        (lambda d: d["frames"].clear(), "its list of frames is empty"),
    ],
)
def test_cameras_that_cannot_be_drawn(folder, edit, message):
    change(folder, edit)
    with pytest.raises(SignalError, match=f"^cannot read cameras from .*{message}"):
        read_cameras(folder / "transforms_train.json", height=3, width=5)
    with pytest.raises(SignalError, match="it is a folder: name a file of poses"):
        read_cameras(folder, height=3, width=5)


def test_folders_that_hold_no_scene(tmp_path, folder):
    with pytest.raises(SignalError, match=r"neither transforms_train.json .* nor transforms.json"):
        read_views(tmp_path)
    with pytest.raises(SignalError, match="a scene is opened by its folder"):
        staf.open(folder / "transforms_train.json")
    (folder / "transforms_train.json").unlink()
    with pytest.raises(SignalError, match="no photos to fit"):
        read_views(folder)
    (folder / "transforms_train.json").write_text("{")
    with pytest.raises(SignalError, match="is not JSON"):
        read_views(folder)
