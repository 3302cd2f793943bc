from __future__ import annotations

import json

import numpy as np

from benchmarks.sweeps.restoration_constants import main, ranking, reduced, table
from staf.kinds import Image


def row(network: str, trial: int, psnr: float | None, photo: str = "a") -> dict:
    settings = {"model": network, "base": "default", "recipe": {"rate": 1e-3}}
    settings["arguments"] = {"per_pixel": None, "constants": {}}
    return {"task": "denoising", "network": network, "trial": trial, "photo": photo, "psnr": psnr, "settings": settings}


def test_every_network_is_ranked_by_as_many_trials_and_a_failed_one_is_last():
    rows = [row("siren", 0, 20.0), row("siren", 1, 22.0), row("siren", 2, 30.0), row("wire", 0, 21.0)]
    rows.append(row("wire", 1, None))
    found = ranking(rows)
    assert [trial["trial"] for trial in found["denoising", "siren"]] == [1, 0]
    assert [trial["trial"] for trial in found["denoising", "wire"]] == [0, 1]
    assert "| denoising | siren | 20.00 | 22.00 | +2.00 | 2 | 1: Settings(0.001) |" in table(rows)


def test_a_search_is_run_continued_and_its_best_trials_run_again(tmp_path, capsys):
    photo = np.random.default_rng(0).integers(0, 256, (20, 33, 3), np.uint8)
    path = str(Image(photo).save(tmp_path / "photo.png"))
    assert reduced(path, 8).shape == (8, 8)
    assert reduced(path, 8).array[0, 0].tolist() == photo[2:4, 8:10].mean((0, 1)).round().tolist()
    small = ["--tasks", "inpainting", "--networks", "siren", "--steps", "1", "--size", "8"]
    main([path, *small, "--trials", "2", "--out", str(tmp_path / "first.json")])
    main([path, *small, "--chosen", str(tmp_path / "first.json"), "--out", str(tmp_path / "second.json")])
    first, second = (json.loads((tmp_path / name).read_text())["rows"] for name in ("first.json", "second.json"))
    assert [trial["trial"] for trial in first] == [trial["trial"] for trial in second] == [0, 1]
    assert [trial["psnr"] for trial in first] == [trial["psnr"] for trial in second]
    main([path, *small, "--trials", "2", "--out", str(tmp_path / "first.json")])
    assert "2 fits are there, 0 are to be run" in capsys.readouterr().out
