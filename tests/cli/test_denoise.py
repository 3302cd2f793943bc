from __future__ import annotations

from pathlib import Path

import numpy as np

from staf.kinds import Audio
from staf.kinds import open as open_signal


def test_an_image_is_denoised(staf, picture):
    ran = staf("denoise", picture, "--steps", 12)
    assert ran.code == 0, ran.err
    assert open_signal("runs/picture-denoise/denoised.png").shape == (16, 16)
    assert "the result comes from non-local means, not from the fit: on held-out pixels" in ran.out
    page = Path("runs/picture-denoise/report.html").read_text(encoding="utf-8")
    assert "not from the fit" in page
    assert "without the truth, the result's error is unknown" in page.replace("&#x27;", "'")


def test_an_image_is_measured_beside_the_classics(staf, picture, here):
    words = ["denoise", picture, "--photons", 20, "--readout", 1, "--held-out", 0.2, "--json"]
    document = staf(*words, "--out", "dn", "--steps", 30).json
    assert list(document["methods"]) == ["staf", "total variation", "non-local means"]
    assert document["methods"][document["returned"]["method"]] == document["metrics"]
    assert document["methods"]["staf"] == document["fit_metrics"]
    assert document["metrics"]["psnr"] > document["noisy"]["psnr"]
    assert document["oracle"]["psnr"] >= document["fit_metrics"]["psnr"] - 1e-4
    assert (here / "dn" / "comparison.png").stat().st_size > 1000
    again = staf(*words, "--out", "dn2", "--steps", 1).json
    assert again["noisy"] == document["noisy"]
    other = staf(*words, "--out", "dn3", "--steps", 1, "--seed", 1).json
    assert other["noisy"] != document["noisy"]


def test_the_papers_protocol(staf, picture):
    assert staf("denoise", picture, "--photons", 10, "--paper", "--steps", 2, "--json").json["steps"] == 2


def test_a_fit_that_ends_before_held_out_pixels_are_looked_at_keeps_its_last_weights(staf, picture):
    document = staf("denoise", picture, "--target-db", 1, "--json").json
    assert document["steps"] < 10
    assert document["kept_step"] == document["steps"]


def test_mistakes(staf, picture, here):
    assert "--photons must be a positive number, got -10" in staf("denoise", picture, "--photons", -10).refused()
    assert "give both" in staf("denoise", picture, "--readout", 2).refused()
    assert "--held-out must lie between 0 and 1" in staf("denoise", picture, "--held-out", 0).refused()
    Audio(np.ones(100), 8000).save(here / "a.wav")
    assert "is of kind audio" in staf("denoise", "a.wav").refused()


def test_a_fit_that_ends_before_the_oracle_has_looked_says_nothing_of_it(staf, picture):
    out = staf("denoise", picture, "--photons", 10, "--target-db", 1, "--out", "early").out
    assert "(returned)" in out
    assert "oracle" not in out
