from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from staf.kinds import Image
from staf.kinds import open as open_signal


@pytest.fixture
def waves(here):
    y, x = np.mgrid[0:24, 0:24] / 24
    return Image((255 * (0.5 + 0.4 * np.sin(9 * x + 6 * y * y))).astype(np.uint8)).save("waves.png")


@pytest.mark.parametrize(
    ("words", "methods"),
    [
        (["--keep", 0.5], ["staf", "biharmonic", "linear", "learned filling", "total variation"]),
        (["--blur", 1, "--evaluate"], ["staf", "total variation", "Wiener"]),
        (["--blur", 1, "--factor", 2, "--keep", 0.9, "--photons", 500], ["staf", "total variation"]),
    ],
    ids=["inpainting", "deblurring", "all at once"],
)
def test_a_picture_is_restored_beside_the_classics(staf, waves, here, words, methods):
    document = staf("restore", waves, *words, "--steps", 12, "--json", "--out", "r").json
    # A mean of several may be better than each.
    assert [name for name in document["methods"] if not name.startswith("mean")] == methods
    returned = document["returned"]
    assert document["metrics"] == document["methods"][returned["method"]]
    best = max(measures["psnr"] for measures in document["methods"].values())
    assert document["metrics"]["psnr"] > best - 1.5
    assert document["metrics"]["psnr"] > 20
    assert {"restored.png", "comparison.png", "metrics.json", "report.html", "model.safetensors"} <= {
        path.name for path in (here / "r").iterdir()
    }


def test_a_hole_is_filled_and_the_rest_is_what_was_seen(staf, waves):
    picture = open_signal(waves).array.copy()
    truth = picture.astype(float).squeeze()
    hole = np.zeros((24, 24), np.uint8)
    hole[8:12, 8:12] = 255
    Image(hole).save("mask.png")
    picture[hole.reshape(picture.shape) > 0] = 0
    Image(picture).save("holed.png")
    ran = staf("restore", "holed.png", "--mask", "mask.png", "--steps", 5)
    assert ran.code == 0, ran.err
    assert "16 of 576 pixels are missing: mask.png is white there" in ran.out
    assert "not from the fit: on held-out" in ran.out
    assert "24x24 grey, uint8, fitted by staf" in Path("runs/holed-restore/report.html").read_text()
    restored = open_signal("runs/holed-restore/restored.png").array.astype(float).squeeze()
    assert np.abs(restored - truth)[hole > 0].mean() < 15
    assert np.abs(restored - truth)[hole == 0].mean() < 4


@pytest.mark.parametrize("shape", [(1, 12), (12, 1), (2, 2)])
def test_pictures_of_a_single_line_are_filled(staf, here, shape):
    Image(np.arange(0, 240, 240 // np.prod(shape), dtype=np.uint8).reshape(shape)).save("line.png")
    methods = staf("restore", "line.png", "--keep", 0.5, "--steps", 2, "--json").json["methods"]
    assert "linear" in methods


@pytest.mark.parametrize("words", [("restore", "--keep", 0.5), ("restore", "--blur", 1), ("denoise",)])
def test_a_single_pixel_has_nothing_to_hold_out(staf, here, words):
    Image(np.full((1, 1), 7, np.uint8)).save("one.png")
    said = staf(words[0], "one.png", *words[1:], "--steps", 2).refused()
    assert said.startswith("there are too few observations to hold any of them out")
    assert not (here / "runs").exists()


def test_short_forms(staf, picture, here):
    assert staf("restore", picture, "--factor", 2, "--steps", 1, "--json").json["verb"] == "upscale"
    assert staf("restore", picture, "--photons", 9, "--steps", 1, "--json").json["verb"] == "denoise"


def test_mistakes(staf, picture, here):
    assert "say what happened to the picture" in staf("restore", picture).refused()
    assert "give one of them" in staf("restore", picture, "--keep", 0.2, "--mask", picture).refused()
    assert "--keep is a share of the pixels, at most 1, got 1.5" in staf("restore", picture, "--keep", 1.5).refused()
    assert "--keep must be a positive number, got 0" in staf("restore", picture, "--keep", 0).refused()
    assert "--blur must be a positive number, got 0" in staf("restore", picture, "--blur", 0).refused()
    assert "--scale must be at least 1, got -2" in staf("restore", picture, "--blur", 1, "--scale", -2).refused()
    large = staf("restore", picture, "--blur", 1, "--scale", 3000).refused()
    assert "--scale 3000 makes 48,000 x 48,000 pixels of 16 x 16, and at most 400,000,000" in large
    assert "must divide the image's sides" in staf("restore", picture, "--keep", 0.5, "--factor", 5).refused()
    Image(np.full((9, 9), 255, np.uint8)).save("small.png")
    assert "--mask must be an image of 16x16" in staf("restore", picture, "--mask", "small.png").refused()
    Image(np.full((16, 16), 255, np.uint8)).save("white.png")
    assert "is white everywhere" in staf("restore", picture, "--mask", "white.png").refused()
    Image(np.zeros((16, 16), np.uint8)).save("black.png")
    assert "black.png is white nowhere: leave --mask out" in staf("restore", picture, "--mask", "black.png").refused()
    assert not (here / "runs").exists()
