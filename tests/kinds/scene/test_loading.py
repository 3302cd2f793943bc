"""Photos from files: limits before anything is decoded, and messages that name the frame."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image as Pillow

from staf.kinds import opening
from staf.kinds.scene import loading
from staf.kinds.scene.reading import read_views
from staf.signals.errors import SignalError
from tests.kinds.scene import procedural


@pytest.fixture
def folder(tmp_path):
    return procedural.write_blender(tmp_path / "scene", train=3, test=2, size=24)


def test_the_limit_is_for_all_photos_and_is_compared_before_any_is_decoded(folder, monkeypatch):
    def refuse(*arguments, **named):
        raise AssertionError("decoded")

    monkeypatch.setattr(opening, "open", refuse)
    with pytest.raises(SignalError, match=r"have 2,880 pixels together, more than max_pixels=2,879.*--downscale"):
        read_views(folder, max_pixels=5 * 24 * 24 - 1)
    with pytest.raises(SignalError, match=r"have 720 pixels together after downscale 2, more than max_pixels=700"):
        read_views(folder, downscale=2, max_pixels=700)


def test_smaller_photos_need_less(folder):
    assert len(read_views(folder, downscale=2, max_pixels=5 * 24 * 24 // 4)["train"]) == 3


def test_photos_whose_header_was_not_read_are_counted_too(folder, monkeypatch):
    monkeypatch.setattr(loading, "_announced", lambda frame, folder: (0, 0))
    with pytest.raises(SignalError, match="have 1,728 pixels together"):
        read_views(folder, max_pixels=1000)


@pytest.mark.parametrize("suffix", [".JPG", ".tif", ".webp", ".PNG"])
def test_every_format_of_photos_with_or_without_its_suffix(folder, suffix):
    for number in range(3):
        (folder / "train" / f"r_{number}.png").unlink()
        Pillow.fromarray(np.full((24, 24, 3), 80, np.uint8)).save(folder / "train" / f"r_{number}{suffix}")
    train = read_views(folder)["train"]
    assert train.names[0] == f"train/r_0{suffix}"
    assert abs(train.pixels.int() - 80).max() <= 2


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda path: path.write_bytes(path.read_bytes()[:120]),
            "^frame 1 of transforms_train.json: cannot read the photo 'train/r_1.png': it is damaged",
        ),
        (
            lambda path: path.write_text("hello"),
            "^frame 1 of transforms_train.json: 'train/r_1.png' is no photo: photos are PNG, JPEG, TIFF, WebP, and it "
            "is of no known format$",
        ),
        (lambda path: path.write_bytes(b"%PDF-1.4"), r"'train/r_1.png' is no photo: .*it is PDF \(document\)"),
        (lambda path: path.write_bytes(b""), "^frame 1 of transforms_train.json: the photo 'train/r_1.png' is empty"),
        (
            lambda path: Pillow.new("RGBA", (20, 24)).save(path),
            "frame 0 of transforms_train.json, 'train/r_0.png', is 24x24 .*frame 1 .*'train/r_1.png', is 20x24",
        ),
        (lambda path: Pillow.new("RGB", (24, 24)).save(path), "'train/r_1.png', is 24x24 with 3 channels"),
    ],
)
def test_the_frame_of_a_wrong_photo_is_named(folder, damage, message):
    damage(folder / "train" / "r_1.png")
    with pytest.raises(SignalError, match=message):
        read_views(folder)
