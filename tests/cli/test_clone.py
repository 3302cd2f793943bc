from __future__ import annotations

import numpy as np

from staf.kinds import Image
from staf.kinds import open as open_signal


def test_a_patch_is_cloned_at_a_place(staf, picture, here):
    patch = np.full((6, 6, 3), 30, np.uint8)
    patch[2:4, 2:4] = 120
    Image(patch).save("patch.png")
    white = np.zeros((6, 6), np.uint8)
    white[1:5, 1:5] = 255
    Image(white).save("white.png")
    ran = staf("clone", picture, "patch.png", "--mask", "white.png", "--at", "7,4", "--steps", 3, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["returned"]["method"] in ("staf", "least squares")
    target, cloned = (open_signal(path).array.astype(int) for path in (picture, "runs/picture-clone/cloned.png"))
    region = np.zeros((16, 16), bool)
    region[5:9, 8:12] = True
    assert np.abs(cloned - target)[~region].max() <= 1
    # The spot stands out as in the source, on the target's colours.
    spot, beside = cloned[6:8, 9:11].mean(), cloned[5, 8:12].mean()
    assert 40 < spot - beside < 110
    assert (here / "runs/picture-clone/pasted.png").exists()


def test_mistakes(staf, picture):
    Image(np.zeros((9, 9), np.uint8)).save("small.png")
    assert "must have SOURCE's 16x16" in staf("clone", picture, picture, "--mask", "small.png").refused()
    assert "the same number of channels" in staf("clone", picture, "small.png", "--mask", "small.png").refused()
    Image(np.zeros((16, 16), np.uint8)).save("black.png")
    assert "and white is nowhere in it" in staf("clone", picture, picture, "--mask", "black.png").refused()
    Image(np.full((16, 16), 255, np.uint8)).save("white.png")
    beyond = staf("clone", picture, picture, "--mask", "white.png", "--at", "40,0").refused()
    assert f"white lies outside of {picture} at --at 40,0" in beyond
    assert "--at must be two whole" in staf("clone", picture, picture, "--mask", "black.png", "--at", "3").refused()
