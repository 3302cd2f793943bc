from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import staf
from staf.cli import demo
from staf.kinds import Image, sample_photo


@pytest.mark.parametrize("name", ["astronaut", "coffee"])
def test_photos_become_squares_by_area_means(name: str) -> None:
    photo = sample_photo(name)
    square = demo.square(photo)
    assert square.shape == (256, 256)
    size = min(photo.shape)
    assert square.array.mean() == pytest.approx(_centre(photo.array, size).mean(), abs=0.1)
    if size == 512:
        blocks = _centre(photo.array, size).reshape(256, 2, 256, 2, 3).mean((1, 3))
        assert np.abs(square.array - blocks).max() <= 0.51


def test_small_photos_stay_as_they_are() -> None:
    photo = Image(np.zeros((40, 300, 3), np.uint8))
    assert demo.square(photo) is photo


def test_it_leaves_a_report_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.linspace(0, 255, 48).astype(np.uint8)
    Image(np.stack([np.tile(rows, (48, 1))] * 3, axis=-1)).save(tmp_path / "a photo.png")
    out = tmp_path / "out"
    assert demo.main([str(tmp_path / "a photo.png"), "--out", str(out), "--seconds", "2"]) == 0
    printed = capsys.readouterr().out
    metrics = json.loads((out / "metrics.json").read_text())
    assert f"{metrics['psnr']:.2f} dB over all 2,304 pixels" in printed
    assert "seconds in all" in printed
    assert f"Look at {out / 'report.html'}" in printed
    assert (out / "report.html").stat().st_size > 10_000
    assert staf.load(out / "model.safetensors").render().shape == (48, 48)


def test_the_settings_are_the_default_plans(tmp_path: Path) -> None:
    fit = demo.demonstrate(Image(np.zeros((9, 9, 3), np.uint8)), tmp_path, seconds=0.1, progress=False)
    plan = staf.plan(fit.signal, staf.Budget(steps=1000, seconds=75.0, target_db=40.0))
    assert fit.recipe.replace(seconds=75.0) == plan.recipe
    assert fit.module.architecture == plan.field().architecture


def test_it_can_be_run_again(tmp_path: Path) -> None:
    for _ in range(2):
        demo.demonstrate(Image(np.zeros((9, 9, 3), np.uint8)), tmp_path, seconds=0.1, progress=False)


def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["/no/such/photo.png"]) == 2
    error = capsys.readouterr().err
    assert "there is no such file" in error
    assert len(error.splitlines()) == 1


def _centre(array: np.ndarray, size: int) -> np.ndarray:
    top, left = (array.shape[0] - size) // 2, (array.shape[1] - size) // 2
    return array[top : top + size, left : left + size]
