"""The hash grid by every verb: fit, render, a pyramid, compare."""

from __future__ import annotations

import tifffile


def test_fit_render_and_compare(staf, picture):
    assert staf("fit", picture, "--steps", 3, "--model", "ngp", "--out", "run").code == 0
    document = staf("render", "run/model.safetensors", "--scale", 2, "-o", "twice.png", "--json").json
    assert document["out"] == "twice.png"
    ran = staf("compare", picture, "--models", "ngp", "siren", "--steps", 2, "--out", "both")
    assert ran.code == 0
    assert "ngp" in ran.out


def test_a_pyramid_is_a_tiff(staf, picture):
    small = ("--model", "siren", "--width", 16, "--depth", 1)
    assert staf("fit", picture, "--steps", 2, *small, "--out", "run").code == 0
    assert staf("render", "run/model.safetensors", "--size", "1200x900", "--pyramid", "-o", "a.tif").code == 0
    with tifffile.TiffFile("a.tif") as file:
        assert file.pages[0].is_tiled
        assert len(file.pages[0].pages) == 2
    assert "--pyramid needs --out NAME.tif" in staf("render", "run/model.safetensors", "--pyramid").refused()
