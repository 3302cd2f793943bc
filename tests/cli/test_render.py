from __future__ import annotations

import numpy as np
import pytest

from staf.kinds import open as open_signal
from staf.kinds.image.options import parse_crop, parse_size


@pytest.fixture
def model(staf, picture):
    assert staf("fit", picture, "--steps", 5, "--out", "run").code == 0
    return "run/model.safetensors"


def test_scale_size_and_crop(staf, model, here):
    assert staf("render", model, "--scale", 2.5, "-o", "big.png").code == 0
    assert open_signal("big.png").shape == (40, 40)
    assert staf("render", model, "--size", "20x10", "--out", "new folder/ü.tiff").code == 0
    assert open_signal("new folder/ü.tiff").shape == (10, 20)
    assert staf("render", model, "--crop", "4,2,12,14", "-o", "part.png").code == 0
    whole, part = open_signal("run/reconstruction.png").array, open_signal("part.png").array
    assert np.array_equal(part, whole[2:14, 4:12])


def test_the_default_is_a_picture_beside_the_field(staf, model, here):
    document = staf("render", model, "--scale", 2, "--json").json
    assert document == {
        "verb": "render",
        "file": model,
        "out": "run/model-32x32.png",
        "width": 32,
        "height": 32,
    }
    assert open_signal(document["out"]).shape == (32, 32)


def test_a_run_folder_is_a_field(staf, model, here):
    assert staf("render", "run", "--scale", 2, "-o", "big.png").code == 0
    assert staf("render", model, "--scale", 2, "-o", "same.png").code == 0
    assert (here / "big.png").read_bytes() == (here / "same.png").read_bytes()
    assert staf("render", "run", "--json").json["out"].startswith("run/model")


def test_an_existing_picture_needs_overwrite(staf, model, here):
    (here / "mine.png").write_text("mine")
    assert "name another place with --out" in staf("render", model, "-o", "mine.png").refused()
    assert (here / "mine.png").read_text() == "mine"
    assert staf("render", model, "-o", "mine.png", "--overwrite").code == 0
    assert open_signal("mine.png").shape == (16, 16)


def test_what_cannot_be_drawn(staf, model, here):
    for words, message in (
        (["--size", "20"], "--size must be WIDTHxHEIGHT"),
        (["--size", "0x3"], "--size must be WIDTHxHEIGHT"),
        (["--crop", "1,2,3"], "--crop must be LEFT,TOP,RIGHT,BOTTOM"),
        (["--crop", "0,0,17,4"], "inside 16x16 pixels"),
        (["--scale", "-1"], "scale must be a positive number"),
        (["--scale", "2", "--size", "3x3"], "exclude each other"),
        (["-o", "picture.xyz"], "xyz"),
    ):
        assert message in staf("render", model, *words).refused()
    assert not list(here.glob("run/model-*"))


def test_sizes_and_crops():
    assert parse_size("3X4") == (3, 4)
    assert parse_crop("0.5,1,2,3") == (0.5, 1.0, 2.0, 3.0)


def test_a_place_that_takes_no_file_is_named_as_it_was_given(staf, model, here):
    (here / "file").touch()
    assert staf("render", model, "-o", "file/a.png").refused().startswith("cannot write file/a.png: expected a folder")
