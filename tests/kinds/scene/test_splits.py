"""Which photos are held out: by lists of paths, and never one that is fitted too."""

from __future__ import annotations

import json
import shutil

import pytest

from staf.kinds.scene.reading import read_views
from staf.kinds.scene.signal import Scene
from staf.signals.errors import SignalError
from tests.kinds.scene import procedural


@pytest.fixture
def folder(tmp_path):
    """Six frames in one file: train/r_0 to r_3, and test/r_0 and r_1, whose names repeat."""
    folder = procedural.write_blender(tmp_path / "scene", train=4, test=2, size=8)
    documents = [json.loads((folder / f"transforms_{split}.json").read_text()) for split in ("train", "test")]
    for split in ("train", "test"):
        (folder / f"transforms_{split}.json").unlink()
    frames = [frame for document in documents for frame in document["frames"]]
    (folder / "transforms.json").write_text(json.dumps({**documents[0], "frames": frames}))
    return folder


def listed(folder, **lists):
    document = json.loads((folder / "transforms.json").read_text())
    (folder / "transforms.json").write_text(json.dumps({**document, **lists}))
    return {split: part.names for split, part in read_views(folder).items()}


TRAIN, TEST = [f"train/r_{i}.png" for i in range(4)], ["test/r_0.png", "test/r_1.png"]


@pytest.mark.parametrize("ending", [".png", ""])
@pytest.mark.parametrize("start", ["", "./"])
def test_photos_of_one_name_in_two_folders_are_told_apart(folder, start, ending):
    def names(paths):
        return [start + path.removesuffix(".png") + ending for path in paths]

    assert listed(folder, train_filenames=names(TRAIN), test_filenames=names(TEST)) == {"train": TRAIN, "test": TEST}


def test_lists_may_write_suffixes_as_frames_do(folder):
    """Other systems find r_0.PNG where r_0.png is."""
    document = json.loads((folder / "transforms.json").read_text())
    for frame in document["frames"]:
        frame["file_path"] += ".PNG"
    (folder / "transforms.json").write_text(json.dumps(document))
    assert listed(folder, test_filenames=[name.replace("png", "PNG") for name in TEST])["test"] == TEST


def test_not_all_photos_can_be_held_out(folder):
    with pytest.raises(SignalError, match=r"no photos to fit: all that transforms.json lists are held out"):
        listed(folder, test_filenames=TRAIN + TEST)


def test_without_a_list_of_photos_to_fit_they_are_the_others(folder):
    assert listed(folder, test_filenames=TEST) == {"train": TRAIN, "test": TEST}
    assert listed(folder, train_filenames=[], test_filenames=TEST[:1])["train"] == [*TRAIN, TEST[1]]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"train_filenames": ["r_0.png"]}, "train_filenames has 1 of 1 names that no frame has .*such as 'r_0.png'"),
        ({"train_filenames": [*TRAIN, "a\0b"]}, "train_filenames has 1 of 5 names"),
        ({"test_filenames": ["test/r_7.png", *TEST]}, "test_filenames has 1 of 3 names .*'test/r_7.png'"),
        ({"train_filenames": "train/r_0.png"}, "train_filenames must be a list of file names, got 'train/r_0.png'"),
        ({"train_filenames": [3]}, "must be a list of file names"),
        (
            {"train_filenames": TRAIN, "test_filenames": TRAIN[:1]},
            r"'train/r_0.png' is in two splits, train \(frame 0 of transforms.json\) and test \(frame 0 of",
        ),
    ],
)
def test_lists_that_are_wrong_are_refused(folder, lists, message):
    with pytest.raises(SignalError, match=message):
        listed(folder, **lists)


def test_a_photo_of_two_files_of_poses_is_refused(tmp_path):
    folder = procedural.write_blender(tmp_path, train=2, test=1, size=8)
    shutil.copy(folder / "transforms_train.json", folder / "transforms_test.json")
    with pytest.raises(SignalError, match=r"two splits, train \(frame 0 of transforms_train.json\) and test \(frame 0"):
        read_views(folder)


def test_photos_to_validate_with_may_be_those_to_test_with(folder):
    assert listed(folder, train_filenames=TRAIN, val_filenames=TEST, test_filenames=TEST)["test"] == TEST
    assert read_views(folder, splits=["val"])["val"].names == TEST


def test_photos_to_validate_with_are_held_out_where_none_are_to_test_with(tmp_path):
    folder = procedural.write_blender(tmp_path, train=2, test=1, size=8)
    (folder / "transforms_test.json").rename(folder / "transforms_val.json")
    scene = Scene.read(folder)
    assert (len(scene.train), scene.test.names) == (2, ["test/r_0.png"])
    shutil.copy(folder / "transforms_val.json", folder / "transforms_test.json")
    assert list(read_views(folder)) == ["train", "test"]
