from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paper.__main__ import main
from paper.experiments.image_comparison import ImageComparison, configurations, table
from paper.runner import RunResult, load_results, run_experiment
from staf.kinds import Image


@pytest.fixture
def images(tmp_path):
    y, x = np.mgrid[0:12, 0:10] / 12
    np.save(tmp_path / "ramp.npy", (x * 255).astype(np.uint8))
    Image((np.stack([x, y, x * y], -1) * 65535).astype(np.uint16)).save(tmp_path / "colour.png")
    return {"ramp": str(tmp_path / "ramp.npy"), "colour": str(tmp_path / "colour.png")}


@pytest.fixture
def results(images, tmp_path):
    runs = configurations(list(images), ["siren", "gauss"], [0], steps=4)
    sweep = run_experiment(ImageComparison(images), runs, tmp_path / "r", workers=1, device="cpu", progress=False)
    assert not sweep.failures
    return sweep.results


def test_results_hold_what_a_figure_needs(results, images):
    assert len(results) == 4
    for result in results:
        arrays = result.arrays()
        assert arrays["reconstruction"].shape == arrays["target"].shape
        assert arrays["reconstruction"].dtype == arrays["target"].dtype
        peak = np.iinfo(arrays["target"].dtype).max
        difference = (arrays["reconstruction"].astype(float) - arrays["target"]) / peak
        # Rounding to the image's own depth moves the measure of the float prediction only a little.
        assert -10 * np.log10(np.square(difference).mean()) == pytest.approx(result.metrics["psnr"], abs=0.1)
        assert result.details["steps"] == 4
        assert result.details["parameters"] > 190_000
        assert len(result.history["loss"]) == 4
    assert results[-1].arrays()["target"].dtype == np.uint16


def test_the_table_is_sorted_by_decibels(results):
    drawn = table(results)
    assert drawn.columns[:4] == ["model", "PSNR (dB)", "ramp", "colour"]
    means = [float(row[1]) for row in drawn.rows]
    assert means == sorted(means, reverse=True)
    for row in drawn.rows:
        assert float(row[1]) == pytest.approx((float(row[2]) + float(row[3])) / 2, abs=0.01)


def test_networks_without_a_number_come_last(results):
    spoilt = [
        RunResult(r.path, {**r.document, "metrics": {"psnr": "nan"}}) if r.configuration["model"] == "siren" else r
        for r in results
    ]
    assert [row[0] for row in table(spoilt).rows] == ["gauss", "siren"]
    assert table(spoilt).rows[1][1] == "-"


def test_moving_the_images_changes_no_key(results, images, tmp_path):
    moved = {}
    for name, path in images.items():
        moved[name] = str(Path(path).rename(tmp_path / f"moved {name}{Path(path).suffix}"))
    runs = configurations(list(moved), ["siren", "gauss"], [0], steps=4)
    again = run_experiment(ImageComparison(moved), runs, tmp_path / "r", workers=1, device="cpu", progress=False)
    assert again.cached == 4


def test_drawing_needs_the_result_files_and_no_torch(results, tmp_path):
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom paper.__main__ import main\n"
        "sys.exit(main(['image-comparison', '--folder', sys.argv[1], '--draw-only']))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "r")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "siren" in done.stdout
    assert (tmp_path / "r" / "image-comparison.png").read_bytes().startswith(b"\x89PNG")
    assert "| siren |" in (tmp_path / "r" / "image-comparison.md").read_text()
    assert len(load_results(tmp_path / "r")) == 4


def test_the_command_runs_and_says_what_is_wrong(images, tmp_path, capsys):
    folder = str(tmp_path / "c")
    words = ["image-comparison", "--folder", folder, "--workers", "1", "--device", "cpu"]
    assert main([*words, "--images", images["ramp"], "--models", "siren", "--steps", "2", "--no-figures"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("siren")
    for wrong, message in (
        (["--images", images["ramp"], "--models", "sirne"], "did you mean 'siren'"),
        (["--images", "nothing.png"], "no such file"),
        ([], "needs data: "),
        (["--draw-only", "--folder", str(tmp_path / "empty")], "no finished results"),
    ):
        assert main([*words, *wrong]) == 2
        assert message in capsys.readouterr().err
