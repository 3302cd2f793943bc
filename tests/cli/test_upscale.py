from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from staf.kinds import Image
from staf.kinds import open as open_signal


def test_an_image_is_upscaled(staf, picture):
    ran = staf("upscale", picture, "--factor", 3, "--steps", 3)
    assert ran.code == 0, ran.err
    assert "the result comes from bicubic, corrected, not from the fit: on held-out pixels" in ran.out
    image = open_signal("runs/picture-upscale/upscaled.png")
    assert (image.shape, image.dtype) == ((48, 48), np.uint8)
    assert "48x48 pixels" in ran.out
    assert staf("render", "runs/picture-upscale/model.safetensors", "-o", "again.png").code == 0
    assert open_signal("again.png").shape == (48, 48)
    assert "not from the fit" in Path("runs/picture-upscale/report.html").read_text(encoding="utf-8")


def test_an_image_is_measured_beside_bicubic_and_lanczos(staf, picture, here):
    ran = staf("upscale", picture, "--evaluate", "--steps", 5, "--samples", 2, "--json", "--out", "up")
    document = ran.json
    assert list(document["methods"]) == ["staf", "bicubic", "Lanczos", document["returned"]["method"]]
    assert document["methods"][document["returned"]["method"]] == document["metrics"]
    assert document["oracle"]["psnr"] >= document["fit_metrics"]["psnr"] - 1e-4
    assert json.loads((here / "up" / "metrics.json").read_text())["methods"] == document["methods"]
    made = {path.name for path in (here / "up").iterdir()}
    pictures = {"upscaled.png", "bicubic.png", "lanczos.png", "comparison.png"}
    assert made == {*pictures, "model.safetensors", "metrics.json", "report.html"}
    truth = open_signal(picture).values()
    for method in ("bicubic", "Lanczos"):
        saved = open_signal(here / "up" / f"{method.lower()}.png").values()
        psnr = -10 * (saved - truth).double().square().mean().log10().item()
        assert psnr == pytest.approx(document["methods"][method]["psnr"], abs=0.3)


@pytest.mark.parametrize("steps", [1, 20])
def test_no_budget_ends_below_the_classical_methods(staf, here, steps):
    y, x = np.mgrid[0:24, 0:24] / 24
    Image((255 * (0.5 + 0.4 * np.sin(14 * x + 9 * y * y))).astype(np.uint8)).save("waves.png")
    document = staf("upscale", "waves.png", "--factor", 2, "--evaluate", "--steps", steps, "--json").json
    assert document["metrics"]["psnr"] >= document["methods"]["Lanczos"]["psnr"]
    assert document["metrics"]["psnr"] >= document["methods"]["bicubic"]["psnr"]


def test_the_papers_protocol(staf, picture):
    document = staf("upscale", picture, "--evaluate", "--paper", "--steps", 2, "--json").json
    assert document["steps"] == 2


def test_mistakes(staf, picture):
    assert (
        "factor must divide every side, got factor 5 for 16x16"
        in staf("upscale", picture, "--evaluate", "--factor", 5).refused()
    )
    assert "--scale must be at least 1, got 0" in staf("upscale", picture, "--factor", 0).refused()
    assert "--scale 2000 makes 32,000 x 32,000 pixels" in staf("upscale", picture, "--scale", 2000).refused()
    assert "--paper is the paper's STAF" in staf("upscale", picture, "--paper", "--model", "siren").refused()
    assert "no model 'sirren'" in staf("upscale", picture, "--model", "sirren").refused()
    assert staf("upscale", picture, "--steps", 1).code == 0
    assert "already holds upscaled.png" in staf("upscale", picture, "--steps", 1).refused()
    assert staf("upscale", picture, "--steps", 1, "--overwrite").code == 0
