from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.sweeps.picture_rates import fit, main
from staf.kinds import Image


def smooth(path, side):
    y, x = np.mgrid[:side, :side] / side
    return str(Image((np.stack([y, x, x * y], -1) * 255).astype(np.uint8)).save(path / "photo.png"))


def test_a_smooth_photo_is_measured_at_its_pixels_and_between_them(tmp_path):
    photo = smooth(tmp_path, 16)
    row = fit(photo, 8, "siren", 1e-3, 60, "cpu")
    assert row["psnr"] > 20
    assert row["psnr at twice the size"] > 10
    assert "psnr at twice the size" not in fit(photo, 16, "siren", 1e-3, 1, "cpu"), "the photo has no more pixels"


def test_every_network_is_run_at_every_rate(tmp_path, monkeypatch):
    words = [
        smooth(tmp_path, 16),
        "--side",
        "8",
        "--models",
        "staf",
        "siren",
        "--rates",
        "5e-4",
        "1e-3",
        "--steps",
        "2",
    ]
    out = tmp_path / "rows.json"
    monkeypatch.setattr("sys.argv", ["picture_rates", *words, "--device", "cpu", "--out", str(out)])
    main()
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert [row["run"] for row in rows] == [
        f"8x8 {m} {r} 2 steps" for m in ("staf", "siren") for r in ("0.0005", "0.001")
    ]
    assert rows[0]["psnr"] != pytest.approx(rows[1]["psnr"])
